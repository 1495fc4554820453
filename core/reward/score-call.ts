import { isVerlError, VerlError } from "../errors/verl-error.ts";
import { DeadlineError, withDeadline } from "./deadline.ts";
import type { SampleReward, ScoreInput } from "./reward-manager.ts";
import { toSampleReward, unscored, unscoredClass } from "./sample-reward.ts";
import { thrownAt, type ScoreFunctions } from "./score-functions.ts";

/** What a score function for whole batches receives (the reward manager `batch`): one item a sample in each list. */
export interface BatchScoreInput {
  data_sources: readonly string[];
  solution_strs: readonly string[];
  ground_truths: readonly unknown[];
  extra_infos: readonly Record<string, unknown>[];
  /** Aborts when the run ends or the batch's deadline passes. */
  signal?: AbortSignal;
  /** `custom_reward_function.reward_kwargs`. */
  [kwarg: string]: unknown;
}

/** One call of one of the score functions that a `Scorer` has: for a sample, or for a batch. Plain data, which another process may get. */
export type ScoreCall = { readonly of: number } & (
  { readonly input: ScoreInput } | { readonly batch: BatchScoreInput }
);

/** What came of a call: a reward for each of its samples, and the seconds that it took. */
export interface Scored {
  readonly rewards: SampleReward[];
  readonly seconds: number;
}

/** Samples of a call. */
const samplesOf = (call: ScoreCall): number => ("batch" in call ? call.batch.solution_strs.length : 1);

/** The same reward for each sample of a call. */
export const forAll = (call: ScoreCall, reward: SampleReward): SampleReward[] =>
  Array.from({ length: samplesOf(call) }, () => reward);

/** It ended by its deadline. The function may go on behind that, and would disturb the next sample. */
export function isLate({ rewards: [first] }: Scored): boolean {
  return first !== undefined && "unscored" in first && unscoredClass(first.unscored) === "timeout";
}

/**
 * Calls a score function, which has `seconds`. What it throws, and a time-out, leave the samples unscored with the reason.
 * @throws the reason of `signal`; VerlError VERL_REWARD_RESULT when a batch's function gives another number of results.
 */
export async function callScore(
  functions: ScoreFunctions,
  call: ScoreCall,
  seconds: number,
  signal?: AbortSignal,
): Promise<Scored> {
  const start = performance.now();
  const ended = (rewards: SampleReward[]): Scored => ({ rewards, seconds: (performance.now() - start) / 1000 });
  try {
    if ("input" in call) {
      const { input } = call;
      const score = functions.get(input.data_source);
      return ended([toSampleReward(await withDeadline(seconds, (own) => score({ ...input, signal: own }), signal))]);
    }
    const { batch } = call;
    // A file's function is typed as one for single answers; with the manager `batch` it takes lists.
    const score = functions.get(batch.data_sources[0]!) as unknown as (input: BatchScoreInput) => unknown;
    const results = await withDeadline(seconds, (own) => score({ ...batch, signal: own }), signal);
    return ended(batchRewards(results, batch.solution_strs.length, functions.file));
  } catch (error) {
    if (signal?.aborted || isWrongLength(error)) throw error;
    return ended(forAll(call, failedReward(functions, error)));
  }
}

/** The reward of a sample whose score function threw, or was late: none, with the reason. */
export function failedReward(functions: ScoreFunctions, error: unknown): SampleReward {
  if (error instanceof DeadlineError) return unscored("timeout", error.message);
  const what = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return unscored("error", what + thrownAt(functions, error));
}

function batchRewards(results: unknown, rows: number, file?: string): SampleReward[] {
  if (Array.isArray(results) && results.length === rows) return results.map(toSampleReward);
  const got = Array.isArray(results) ? `${results.length} results` : `${results === null ? "null" : typeof results}`;
  throw new VerlError("VERL_REWARD_RESULT", `The score function returned ${got} for a batch of ${rows} answers.`, {
    location: { ...(file === undefined ? {} : { file }), path: "custom_reward_function.path" },
    hint: "With the reward manager `batch` the function gets lists and returns a list: one number or object an answer, in order.",
  });
}

const isWrongLength = (error: unknown): boolean => isVerlError(error) && error.code === "VERL_REWARD_RESULT";
