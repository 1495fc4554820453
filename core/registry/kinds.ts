/** What is known of an extension kind before any entry of it exists. */
export interface KindInfo {
  /** The kind's name in sentences. */
  readonly title: string;
  /** Config path whose value is a key of this kind; absent where keys are named elsewhere (tools YAML, dataset rows). */
  readonly selectedBy?: string;
  /** Config path of the options that the chosen entry's `optionsSchema` validates. */
  readonly optionsAt?: string;
}

/** The extension kinds, one registry each. */
export const KINDS = {
  adv_estimator: { title: "advantage estimator", selectedBy: "algorithm.adv_estimator", optionsAt: "algorithm.adv_kwargs" },
  policy_loss: {
    title: "policy loss",
    selectedBy: "actor_rollout_ref.actor.policy_loss.loss_mode",
    optionsAt: "actor_rollout_ref.actor.policy_loss",
  },
  loss_agg: { title: "loss aggregation mode", selectedBy: "actor_rollout_ref.actor.loss_agg_mode" },
  kl_penalty: { title: "KL estimator", selectedBy: "algorithm.kl_penalty" },
  reward_manager: { title: "reward manager", selectedBy: "reward_model.reward_manager", optionsAt: "reward_model.reward_kwargs" },
  reward_score: { title: "score function" },
  tool_parser: { title: "tool parser", selectedBy: "actor_rollout_ref.rollout.multi_turn.format" },
  tool: { title: "tool" },
  interaction: { title: "interaction" },
  agent_loop: { title: "agent loop", selectedBy: "actor_rollout_ref.rollout.agent.default_agent_loop" },
  dispatch: { title: "dispatch mode" },
  engine: { title: "training engine", selectedBy: "actor_rollout_ref.actor.strategy" },
  rollout: { title: "rollout engine", selectedBy: "actor_rollout_ref.rollout.name", optionsAt: "actor_rollout_ref.rollout.engine_kwargs" },
  tracker: { title: "tracker", selectedBy: "trainer.logger" },
  dataset: { title: "dataset", selectedBy: "data.dataset" },
  sampler: { title: "sampler", selectedBy: "data.sampler.name" },
  tensor_backend: { title: "tensor backend", selectedBy: "tensor_backend" },
} as const satisfies Record<string, KindInfo>;

export type Kind = keyof typeof KINDS;
