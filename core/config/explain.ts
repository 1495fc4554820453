import { batchPlan } from "./batch-plan.ts";
import type { LoadedConfig } from "./load.ts";
import { IMPORTANCE } from "./note.ts";
import { place } from "./problem.ts";
import type { PpoConfig, SftConfig } from "./schema/index.ts";
import { usesCritic } from "./uses-critic.ts";

/** One derived number or fact, with how it comes about. */
export interface Explanation {
  readonly name: string;
  readonly value: string | number;
  readonly because: string;
}

/** The numbers that follow from a config. */
export function explain(loaded: LoadedConfig): Explanation[] {
  return loaded.schema === "ppo" ? explainPpo(loaded.config as PpoConfig) : explainSft(loaded.config as SftConfig);
}

function explainPpo(config: PpoConfig): Explanation[] {
  const { data, trainer, actor_rollout_ref: policy } = config;
  const plan = batchPlan(config);
  const { actor, rollout } = policy;
  const reference = config.algorithm.use_kl_in_reward || actor.use_kl_loss;
  const micro =
    plan.microBatch === null
      ? { value: "by tokens", because: `use_dynamic_bsz: at most ${actor.ppo_max_token_len_per_gpu} tokens each` }
      : {
          value: plan.microBatch,
          because: plan.microBatchDerived
            ? `derived: the largest divisor of ${plan.samplesPerRank} within ${actor.ppo_max_token_len_per_gpu} tokens`
            : "actor.ppo_micro_batch_size_per_gpu",
        };
  return [
    {
      name: "ranks",
      value: plan.ranks,
      because: `trainer.nnodes ${trainer.nnodes} × trainer.n_gpus_per_node ${trainer.n_gpus_per_node}`,
    },
    ...explainRoles(config),
    { name: "prompts a step", value: plan.prompts, because: "data.train_batch_size" },
    { name: "samples a step", value: plan.samples, because: `${plan.prompts} prompts × rollout.n ${rollout.n}` },
    {
      name: "updates a step",
      value: plan.updates,
      because: `${plan.prompts} / actor.ppo_mini_batch_size ${actor.ppo_mini_batch_size} × actor.ppo_epochs ${actor.ppo_epochs}`,
    },
    {
      name: "samples an update",
      value: plan.samplesPerUpdate,
      because: `${actor.ppo_mini_batch_size} prompts × rollout.n ${rollout.n}`,
    },
    {
      name: "samples an update on a rank",
      value: plan.samplesPerRank,
      because: `${plan.samplesPerUpdate} / ${plan.ranks} ranks`,
    },
    { name: "samples a micro-batch", ...micro },
    ...(plan.accumulation === null
      ? []
      : [
          {
            name: "accumulation steps",
            value: plan.accumulation,
            because: `${plan.samplesPerRank} / ${plan.microBatch}`,
          },
        ]),
    {
      name: "tokens a sample, at most",
      value: plan.sampleTokens,
      because: `rollout.prompt_length ${rollout.prompt_length} + rollout.response_length ${rollout.response_length}`,
    },
    {
      name: "tokens a step, at most",
      value: plan.stepTokens,
      because: `${plan.samples} samples × ${plan.sampleTokens}`,
    },
    {
      name: "steps",
      value: trainer.total_training_steps ?? "by epochs",
      because:
        trainer.total_training_steps === null
          ? `${trainer.total_epochs} epochs over ${data.train_files.length} file(s)`
          : "trainer.total_training_steps",
    },
    {
      name: "critic",
      value: usesCritic(config) ? "yes" : "no",
      because:
        config.critic.enable === null ? `algorithm.adv_estimator ${config.algorithm.adv_estimator}` : "critic.enable",
    },
    {
      name: "reference policy",
      value: reference ? "yes" : "no",
      because: reference ? "a KL term is on" : "algorithm.use_kl_in_reward and actor.use_kl_loss are off",
    },
  ];
}

/** Ranks beside the actor's. */
function explainRoles({ controller, actor_rollout_ref: { hybrid_engine, rollout } }: PpoConfig): Explanation[] {
  const { ref, critic, reward } = controller.role_mapping;
  const { nnodes, n_gpus_per_node: ranks, agent } = rollout;
  return [
    hybrid_engine
      ? { name: "rollout", value: "with the actor", because: "actor_rollout_ref.hybrid_engine" }
      : {
          name: "rollout ranks",
          value: nnodes * ranks,
          because: `rollout.nnodes ${nnodes} × n_gpus_per_node ${ranks}`,
        },
    agent.num_workers === null
      ? { name: "agent loops", value: "with the rollout", because: "rollout.agent.num_workers is null" }
      : { name: "agent-loop ranks", value: agent.num_workers, because: "rollout.agent.num_workers" },
    { name: "pools", value: `ref ${ref}, critic ${critic}, reward ${reward}`, because: "controller.role_mapping" },
  ];
}

function explainSft({ data, trainer }: SftConfig): Explanation[] {
  const ranks = trainer.nnodes * trainer.n_gpus_per_node;
  const perRank = data.train_batch_size / ranks;
  const micro = data.micro_batch_size_per_gpu;
  return [
    {
      name: "ranks",
      value: ranks,
      because: `trainer.nnodes ${trainer.nnodes} × trainer.n_gpus_per_node ${trainer.n_gpus_per_node}`,
    },
    { name: "conversations an update", value: data.train_batch_size, because: "data.train_batch_size" },
    { name: "conversations an update on a rank", value: perRank, because: `${data.train_batch_size} / ${ranks} ranks` },
    ...(micro === null
      ? []
      : [
          {
            name: "accumulation steps",
            value: perRank / micro,
            because: `${perRank} / data.micro_batch_size_per_gpu ${micro}`,
          },
        ]),
    {
      name: "tokens an update, at most",
      value: data.train_batch_size * data.max_length,
      because: `${data.train_batch_size} × data.max_length ${data.max_length}`,
    },
    {
      name: "steps",
      value: trainer.total_training_steps ?? "by epochs",
      because:
        trainer.total_training_steps === null ? `${trainer.total_epochs} epochs` : "trainer.total_training_steps",
    },
  ];
}

/** As text: one aligned line a number, then the notes. */
export function showExplanation(loaded: LoadedConfig): string {
  const facts = explain(loaded);
  const nameWidth = Math.max(...facts.map(({ name }) => name.length));
  const valueWidth = Math.max(...facts.map(({ value }) => String(value).length));
  const lines = facts.map(
    ({ name, value, because }) => `${name.padEnd(nameWidth)}  ${String(value).padStart(valueWidth)}  ${because}`,
  );
  const notes = Object.entries(IMPORTANCE).flatMap(([importance, title]) => {
    const own = loaded.notes.filter((note) => note.importance === importance);
    const shown = own.map(({ message, location }) => `- ${[place(location), message].filter(Boolean).join(": ")}`);
    return own.length === 0 ? [] : ["", `Notes: ${title.toLowerCase()}`, ...shown];
  });
  return [...lines, ...notes].join("\n");
}
