import { DataProto } from "../batch/data-proto.ts";
import { batchPlan } from "../config/batch-plan.ts";
import type { NdArray } from "../batch/nd-array.ts";
import { klPenaltyKey } from "../algorithm/straight-through.ts";
import { collatePrompts } from "../data/collate.ts";
import type { Dataset } from "../data/dataset.ts";
import { inNameOf } from "../registry/index.ts";
import { withGrace } from "../reward/deadline.ts";
import { requireScored, unscoredMetrics } from "../reward/score-batch.ts";
import { forUpdate, inRankOrder, rankOrder, totalLengths, type RankLayout } from "./balance.ts";
import type { EngineOutput } from "./forward-in-parts.ts";
import { computeBalanceMetrics } from "./metrics/index.ts";
import { reductionOf } from "./metrics/reductions.ts";
import type { StepMetrics } from "./metrics/step-metrics.ts";
import { rewardsFromScores, rewardsWithKl, withAdvantages } from "./ppo-advantages.ts";
import { bypassesOldLogProbs, distributionUses, withNumericColumns } from "./ppo-fields.ts";
import { logProbGap } from "./ppo-log-prob-gap.ts";
import { layOutRewards, partMetrics, type RewardColumns } from "./ppo-rewards.ts";
import type { PpoRun } from "./ppo-run.ts";
import { correctBatch } from "./rollout-correction.ts";
import { Scoring } from "./scoring.ts";
import { actorShuffle, criticShuffle } from "./shuffles.ts";
import { ROWS } from "./workers/answer-prompts.ts";

/*
 * The phases of a training step, in their order. Each takes the batch and gives back what it adds to it; nothing is changed in place.
 */

/** Rows whose log-probs are recomputed when the sampler's stand in for the old ones, to keep an eye on the gap. */
const GAP_ROWS = 64;

/** Rows of a dataset as prompts, each with a `uid` that its answers share. */
export function collate(run: PpoRun, dataset: Dataset, indices: ArrayLike<number>, name: string): DataProto {
  const { prompt_length } = run.config.actor_rollout_ref.rollout;
  const options = { promptLength: prompt_length, padTokenId: run.tokenizer.padTokenId };
  const uid = Array.from(indices, (_, row) => `${name}/${row}`);
  return collatePrompts(dataset, indices, options).union(DataProto.fromSingleDict({ uid }), "replace");
}

/** Prompts and their answers. */
export interface Sampled {
  /** Epoch of the prompts, the last one where they are of several. */
  epoch: number;
  /** Each once. */
  prompts: DataProto;
  /** `rollout.n` rows a prompt. */
  batch: DataProto;
  /** Of these answers. */
  scoring: Scoring;
  /** Parts of the reward beside the score, where the answers have their scores already. */
  parts?: RewardColumns["parts"];
}

/**
 * Answers each prompt of the loader's next batch `rollout.n` times. Who asks to stop gives the answers some time: a loop may never end.
 * @param round number of the step's batch, from 1; each draws from its own stream.
 */
export async function drawAnswers(run: PpoRun, step: number, metrics: StepMetrics, round = 1): Promise<Sampled> {
  const { indices, epoch } = run.loader.next();
  const prompts = collate(run, run.train, indices, round === 1 ? `${step}` : `${step}.${round}`);
  const repeated = prompts.repeat(run.config.actor_rollout_ref.rollout.n);
  const scoring = new Scoring(run, false);
  const whole = (answers: DataProto) => wholeGroups(answers, run.config.actor_rollout_ref.rollout.n);
  const answers = await untilStopped(run, ANSWERS_GRACE_S, (signal) =>
    scoring.generate(repeated, { step, round, signal }, whole),
  );
  const batch = takeMetrics(answers, metrics);
  return { epoch, prompts, batch, scoring };
}

/** Without the groups of which a rank that had only a part of them dropped its part. */
function wholeGroups(answers: DataProto, size: number): DataProto {
  const counts = new Map<unknown, number>();
  const uids = answers.column("uid");
  for (const uid of uids) counts.set(uid, (counts.get(uid) ?? 0) + 1);
  const rows = uids.flatMap((uid, row) => (counts.get(uid) === size ? [row] : []));
  return rows.length === uids.length ? answers : answers.index(rows);
}

/** Metrics of `generateSequences` that count something, and so add up over the ranks; some are broken down by reason. */
const COUNTS = /\/(retries|abandoned_loops|dropped_rows|cut_responses|dropped_groups(\/[^/]+)?|ended\/[^/]+)$/;

/** Moves the metrics that the ranks put into the batch to the step's: counts of all ranks, means over all rows. */
export function takeMetrics(answers: DataProto, metrics: StepMetrics): DataProto {
  const { [ROWS]: rows = [], ...reported } = answers.metaInfo["metrics"] as Record<string, number[]>;
  for (const [name, values] of Object.entries(reported)) {
    const reduction = COUNTS.test(name) ? "sum" : reductionOf(name);
    if (reduction === "min") metrics.add(name, Math.min(...values));
    else if (reduction === "max") metrics.add(name, Math.max(...values));
    else if (reduction === "sum") metrics.add(name, sumOf(values), "sum");
    else metrics.add(name, meanOf(values, rows));
  }
  return answers.select({ metaInfoKeys: [] });
}

/** Over rows, where every rank has a value; the ranks that have none are not known. */
function meanOf(values: readonly number[], rows: readonly number[]): number {
  const weights = values.length === rows.length && sumOf(rows) > 0 ? rows : values.map(() => 1);
  return sumOf(values.map((value, rank) => value * weights[rank]!)) / sumOf(weights);
}

const sumOf = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0);

/** How the rows of a step are laid out for the ranks of a role. */
function rankLayout(run: PpoRun, role: "policy" | "reference" | "critic" = "policy"): RankLayout {
  const { config } = run;
  return {
    ranks: run[role]!.worldSize,
    balance: config.trainer.balance_batch,
    miniBatchRows: batchPlan(config, role === "critic" ? "critic" : "actor").samplesPerUpdate,
  };
}

/** Reports how even the ranks' work is. */
export function addBalanceMetrics(run: PpoRun, batch: DataProto, metrics: StepMetrics): void {
  const { ranks, balance, miniBatchRows } = rankLayout(run);
  const lengths = totalLengths(batch);
  const moves = balance && ranks > 1 && lengths.length >= ranks;
  const order = moves ? rankOrder(lengths, ranks, miniBatchRows) : Int32Array.from(lengths.keys());
  const share = Math.ceil(order.length / ranks);
  const partitions = Array.from({ length: ranks }, (_, rank) => order.subarray(rank * share, (rank + 1) * share));
  metrics.addAll(computeBalanceMetrics(lengths, partitions));
}

/** Seconds that a step which was asked to stop still waits for its answers, or for a validation; and for its rewards. */
export const ANSWERS_GRACE_S = 10;
const REWARDS_GRACE_S = 5;

/** Does a part of a step that may never end by itself. @param work gets a signal of the run's end, or so many seconds after the run was asked to stop */
export function untilStopped<T>(
  { stop, ended }: Pick<PpoRun, "stop" | "ended">,
  seconds: number,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  return withGrace(stop, seconds, (signal) => work(AbortSignal.any([signal, ended.signal])));
}

export interface Scored {
  /** `token_level_scores`, `unscored` and the parts as columns. */
  added: DataProto;
  /** The batch with these. */
  batch: DataProto;
  /** Parts of the reward beside the score. */
  columns: RewardColumns;
}

/**
 * @param scoring of the rows of `batch`, in their order.
 * @param validation ends the scoring of validation answers; undefined for training answers, which a stop leaves some grace.
 * @throws VERL_REWARD_UNSCORED when too many answers have no score.
 */
export async function score(
  run: PpoRun,
  batch: DataProto,
  scoring: Scoring,
  validation: AbortSignal | undefined,
  metrics: StepMetrics,
): Promise<Scored> {
  const scores = (signal: AbortSignal) => scoring.rewards(batch, signal);
  const rewards = await (validation ? scores(validation) : untilStopped(run, REWARDS_GRACE_S, scores));
  requireScored(rewards, run.config.reward_model.max_unscored_fraction, batch.column("uid"));
  const columns = layOutRewards(rewards, batch);
  metrics.addAll({ ...unscoredMetrics(rewards), ...partMetrics(columns.parts) });
  const { token_level_scores, unscored, parts } = columns;
  // A part named like a field of the batch stays with the reward.
  const own = Object.entries(parts).filter(([part]) => !batch.batch.has(part) && !batch.nonTensorBatch.has(part));
  const added = DataProto.fromDict({ token_level_scores, unscored }, own);
  return { added, batch: batch.union(added), columns };
}

/**
 * Adds `old_log_probs`: recomputed (with `entropys`), or the sampler's own. Either way the gap between sampler and trainer is
 * reported, and `actor/entropy`, the mean over response tokens; in the second case both of a few rows.
 */
export async function addOldLogProbs(run: PpoRun, batch: DataProto, metrics: StepMetrics): Promise<DataProto> {
  const bypass = bypassesOldLogProbs(run.config);
  const { calculate_sum_pi_squared } = run.config.actor_rollout_ref.actor;
  const distributions = distributionUses(run.config).inReward;
  const rows = bypass ? batch.index(spreadRows(batch.length, GAP_ROWS)) : batch;
  const options: { outputs: readonly EngineOutput[] } = {
    outputs: [
      "log_probs",
      "entropy",
      ...(calculate_sum_pi_squared && !bypass ? (["sum_pi_squared"] as const) : []),
      ...(distributions ? (["log_softmax"] as const) : []),
    ],
  };
  const computed = await inRankOrder(rows, rankLayout(run), (laidOut) => run.policy.computeLogProb(laidOut, options));
  const mask = rows.tensor("response_mask", "int32");
  metrics.addAll(
    logProbGap(rows.tensor("rollout_log_probs", "float32"), computed.tensor("log_probs", "float32"), mask),
  );
  const entropy = maskedMean(computed.tensor("entropy", "float32"), mask);
  if (entropy !== undefined) metrics.add("actor/entropy", entropy);
  return batch.union(
    bypass
      ? DataProto.fromSingleDict({ old_log_probs: batch.tensor("rollout_log_probs") })
      : computed.rename({
          log_probs: "old_log_probs",
          entropy: "entropys",
          ...(distributions && { log_softmax: "old_log_softmax" }),
        }),
  );
}

export async function addReferenceLogProbs(run: PpoRun, batch: DataProto): Promise<DataProto> {
  const { inReward, inLoss } = distributionUses(run.config);
  const distributions = inReward || inLoss;
  const options: { outputs: readonly EngineOutput[] } = {
    outputs: ["log_probs", ...(distributions ? (["log_softmax"] as const) : [])],
  };
  const computed = await inRankOrder(batch, rankLayout(run, "reference"), (rows) =>
    run.reference!.computeLogProb(rows, options),
  );
  const names = { log_probs: "ref_log_prob", ...(distributions && { log_softmax: "ref_log_softmax" }) };
  return batch.union(computed.rename(names));
}

/** Adds `token_level_rewards` (scores, less the KL penalty where it is on), `advantages` and `returns`, and corrects for the sampler. */
export async function addAdvantages(run: PpoRun, batch: DataProto, metrics: StepMetrics): Promise<DataProto> {
  const { estimator, advantageConfig, config } = run;
  const rewarded = await addRewards(run, batch, metrics);
  const { batch: corrected, rejected } = bypassesOldLogProbs(config)
    ? { batch: rewarded }
    : correctBatch(rewarded, config.algorithm.rollout_correction, metrics);
  return inNameOf("adv_estimator", config.algorithm.adv_estimator, () =>
    withAdvantages(corrected, estimator, advantageConfig, metrics, rejected),
  );
}

async function addRewards({ klInReward, config }: PpoRun, batch: DataProto, metrics: StepMetrics): Promise<DataProto> {
  if (!klInReward) return rewardsFromScores(batch);
  const { penalty, control } = klInReward;
  const coefficient = control.value;
  const { batch: rewarded, kl } = await inNameOf("kl_penalty", klPenaltyKey(config.algorithm.kl_penalty), () =>
    rewardsWithKl(batch, penalty, coefficient),
  );
  control.update(kl, batch.length);
  metrics.addAll({ "actor/reward_kl_penalty": kl, "actor/reward_kl_penalty_coeff": coefficient });
  return rewarded;
}

export async function updateActor(run: PpoRun, batch: DataProto, step: number, metrics: StepMetrics): Promise<void> {
  const rows = forUpdate(withNumericColumns(batch, run.lossFields), rankLayout(run), actorShuffle(run.config, step));
  const [result] = await run.policy.updateActor(rows, { step });
  metrics.addAll(result!);
}

export async function addValues(run: PpoRun, batch: DataProto): Promise<DataProto> {
  return batch.union(await inRankOrder(batch, rankLayout(run, "critic"), (rows) => run.critic!.computeValues(rows)));
}

export async function updateCritic(run: PpoRun, batch: DataProto, step: number, metrics: StepMetrics): Promise<void> {
  const rows = forUpdate(batch, rankLayout(run, "critic"), criticShuffle(run.config, step));
  const [result] = await run.critic!.updateCritic(rows, { step });
  metrics.addAll(result!);
}

/** At most `count` row numbers, evenly spread. */
function spreadRows(rows: number, count: number): Int32Array {
  const taken = Math.min(rows, count);
  return Int32Array.from({ length: taken }, (_, index) => Math.floor((index * rows) / taken));
}

function maskedMean(values: NdArray<"float32">, mask: NdArray<"int32">): number | undefined {
  let [sum, count] = [0, 0];
  for (let at = 0; at < mask.data.length; at++) {
    if (mask.data[at] === 0) continue;
    sum += values.data[at]!;
    count++;
  }
  return count > 0 ? sum / count : undefined;
}
