import type { PpoConfig } from "./schema/index.ts";

/** What one training step comes to. */
export interface BatchPlan {
  /** Processes among which each batch is divided: `trainer.nnodes` × `trainer.n_gpus_per_node`. */
  readonly ranks: number;
  readonly prompts: number;
  /** Prompts × answers a prompt. */
  readonly samples: number;
  /** Optimizer steps, over all `ppo_epochs`. */
  readonly updates: number;
  readonly samplesPerUpdate: number;
  /** Of one update. */
  readonly samplesPerRank: number;
  /** Samples of one backward pass on a rank; null when micro-batches are cut by tokens. */
  readonly microBatch: number | null;
  /** True when the config leaves `microBatch` open and it was chosen here. */
  readonly microBatchDerived: boolean;
  /** Backward passes whose gradients add up to one update; null when cut by tokens. */
  readonly accumulation: number | null;
  /** Tokens of one sample at most. */
  readonly sampleTokens: number;
  /** Tokens of one step at most. */
  readonly stepTokens: number;
}

type Role = "actor" | "critic";

/** The derived numbers of a config whose sizes fit each other. A micro-batch that is left open is the largest divisor that stays within the token limit. */
export function batchPlan(config: PpoConfig, role: Role = "actor"): BatchPlan {
  const { data, trainer, actor_rollout_ref: policy } = config;
  const section = role === "actor" ? policy.actor : config.critic;
  const ranks = trainer.nnodes * trainer.n_gpus_per_node;
  const prompts = data.train_batch_size;
  const answers = policy.rollout.n;
  const samplesPerUpdate = section.ppo_mini_batch_size * answers;
  const samplesPerRank = samplesPerUpdate / ranks;
  const sampleTokens = policy.rollout.prompt_length + policy.rollout.response_length;
  const stated = statedMicroBatch(section, ranks);
  const microBatch = section.use_dynamic_bsz
    ? null
    : (stated ?? largestDivisor(samplesPerRank, Math.floor(section.ppo_max_token_len_per_gpu / sampleTokens)));
  return {
    ranks,
    prompts,
    samples: prompts * answers,
    updates: Math.floor(prompts / section.ppo_mini_batch_size) * section.ppo_epochs,
    samplesPerUpdate,
    samplesPerRank,
    microBatch,
    microBatchDerived: !section.use_dynamic_bsz && stated === null,
    accumulation: microBatch === null ? null : samplesPerRank / microBatch,
    sampleTokens,
    stepTokens: prompts * answers * sampleTokens,
  };
}

/** The micro-batch that a section states for one rank, by either of its two keys; null when by none. */
export function statedMicroBatch(
  section: { readonly ppo_micro_batch_size: number | null; readonly ppo_micro_batch_size_per_gpu: number | null },
  ranks: number,
): number | null {
  const { ppo_micro_batch_size: overall, ppo_micro_batch_size_per_gpu: perRank } = section;
  return perRank ?? (overall === null ? null : overall / ranks);
}

/** Divisors of `of`, ascending. */
export function divisors(of: number): number[] {
  const low: number[] = [];
  const high: number[] = [];
  for (let factor = 1; factor * factor <= of; factor++) {
    if (of % factor !== 0) continue;
    low.push(factor);
    if (factor * factor !== of) high.unshift(of / factor);
  }
  return [...low, ...high];
}

const largestDivisor = (of: number, limit: number): number => divisors(of).findLast((factor) => factor <= limit) ?? 1;
