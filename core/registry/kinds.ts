/** What is known of an extension kind before any entry of it exists. */
export interface KindInfo {
  /** The kind's name in sentences. */
  readonly title: string;
  /** Functions that every entry must have. */
  readonly members: readonly string[];
  /** Of kinds whose entries are classes: the methods that their instances must have. Several lists are alternatives. */
  readonly methods?: readonly (readonly string[])[];
  /** Config path whose value is a key of this kind; absent where keys are named elsewhere (tools YAML, dataset rows). */
  readonly selectedBy?: string;
  /** Config path of the options that the chosen entry's `optionsSchema` validates. */
  readonly optionsAt?: string;
  /** True where one section holds the options of every entry of the kind, as verl's `policy_loss` does: those of the others lie idle. */
  readonly sharedOptions?: boolean;
  /** Of kinds whose functions take the fields of a batch as their first argument: those functions, and the fields that all of them need. */
  readonly takesBatch?: { readonly members: readonly string[]; readonly fields: readonly string[] };
}

/** The extension kinds, one registry each. */
export const KINDS = {
  adv_estimator: {
    title: "advantage estimator",
    members: ["compute"],
    selectedBy: "algorithm.adv_estimator",
    optionsAt: "algorithm.adv_kwargs",
    takesBatch: { members: ["compute"], fields: ["token_level_rewards", "response_mask", "uid"] },
  },
  policy_loss: {
    title: "policy loss",
    members: ["compute"],
    selectedBy: "actor_rollout_ref.actor.policy_loss.loss_mode",
    optionsAt: "actor_rollout_ref.actor.policy_loss",
    sharedOptions: true,
    takesBatch: {
      members: ["compute", "prepare"],
      fields: ["log_probs", "old_log_probs", "advantages", "response_mask"],
    },
  },
  loss_agg: {
    title: "loss aggregation mode",
    members: ["aggregate"],
    selectedBy: "actor_rollout_ref.actor.loss_agg_mode",
  },
  kl_penalty: { title: "KL estimator", members: ["compute"], selectedBy: "algorithm.kl_penalty" },
  reward_manager: {
    title: "reward manager",
    members: ["create"],
    methods: [["score"]],
    selectedBy: "reward_model.reward_manager",
    optionsAt: "reward_model.reward_kwargs",
  },
  reward_score: {
    title: "score function",
    members: ["score"],
    optionsAt: "custom_reward_function.reward_kwargs",
    sharedOptions: true,
  },
  tool_parser: {
    title: "tool parser",
    members: ["create"],
    methods: [["parse", "stream"]],
    selectedBy: "actor_rollout_ref.rollout.multi_turn.format",
  },
  tool: {
    title: "tool",
    members: ["create"],
    methods: [
      ["create", "execute", "calcReward", "release"],
      ["open", "close"],
    ],
  },
  interaction: { title: "interaction", members: ["create"], methods: [["start", "respond", "calcScore", "finalize"]] },
  agent_loop: {
    title: "agent loop",
    members: ["create"],
    methods: [["run"]],
    selectedBy: "actor_rollout_ref.rollout.agent.default_agent_loop",
  },
  dispatch: { title: "dispatch mode", members: ["dispatch", "collect"] },
  execute: { title: "execute mode", members: ["ranks"] },
  transport: {
    title: "transport of worker calls",
    members: ["create"],
    methods: [["resources", "spawn", "close"]],
    selectedBy: "controller.transport",
  },
  engine: {
    title: "training engine",
    members: ["create"],
    methods: [
      [
        "forward",
        "forwardBackward",
        "optimStep",
        "saveState",
        "loadState",
        "exportWeights",
        "savePretrained",
        "dispose",
      ],
    ],
    selectedBy: "actor_rollout_ref.actor.strategy",
  },
  rollout: {
    title: "rollout engine",
    members: ["create"],
    methods: [["generate", "updateWeights", "sleep", "wake", "abort", "dispose"]],
    selectedBy: "actor_rollout_ref.rollout.name",
    optionsAt: "actor_rollout_ref.rollout.engine_kwargs",
  },
  tracker: { title: "tracker", members: ["create"], methods: [["log"]], selectedBy: "trainer.logger" },
  dataset: {
    title: "dataset",
    members: ["create"],
    methods: [["load", "promptIds", "row"]],
    selectedBy: "data.dataset",
  },
  sampler: {
    title: "sampler",
    members: ["create"],
    methods: [["order", "saveState", "loadState"]],
    selectedBy: "data.sampler.name",
    optionsAt: "data.sampler.kwargs",
  },
  tensor_backend: { title: "tensor backend", members: ["unavailable", "activate"], selectedBy: "tensor_backend" },
} as const satisfies Record<string, KindInfo>;

/** Name of an extension kind. */
export type Kind = keyof typeof KINDS;

/** Every kind, in the order of the table. */
export const KIND_NAMES = Object.keys(KINDS) as readonly Kind[];

/** The facts of one kind, under the table's common type. */
export const kindInfo = (kind: Kind): KindInfo => KINDS[kind];
