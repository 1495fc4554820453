import { NdArray } from "../batch/nd-array.ts";
import type { Trajectory } from "./trajectory.ts";

export interface AssembleOptions {
  /** Width of `prompts`: `rollout.prompt_length`. */
  promptLength: number;
  /** Width of `responses`: `rollout.response_length`. Longer ones lose their end. */
  responseLength: number;
  padTokenId: number;
}

export interface AssembledTrajectories {
  /**
   * verl's fields: `prompts` (left-padded), `responses` (right-padded), `input_ids`, `attention_mask`, `position_ids`,
   * `response_mask` (1 on trainable tokens; all int32), `rollout_log_probs` (float32, 0 where nothing was sampled), and `rm_scores`
   * (float32, on the last trainable token) when every trajectory scored itself.
   */
  batch: Record<string, NdArray>;
  /** `__num_turns__`, `stop_reason`, `weight_version`, `reward_score` (if any has one), and every extra field, null where absent. */
  columns: Record<string, unknown[]>;
  /** Trajectories whose end was cut. */
  cut: number;
}

/** Names of all that `assembleTrajectories` makes of what a trajectory says of itself: no extra field has one of them. */
export const ASSEMBLED: readonly string[] = [
  "prompts",
  "responses",
  "response_mask",
  "input_ids",
  "attention_mask",
  "position_ids",
  "rollout_log_probs",
  "rm_scores",
  "__num_turns__",
  "stop_reason",
  "weight_version",
  "reward_score",
];

/** Lays trajectories, each of which has passed `checkTrajectory`, out as one batch. */
export function assembleTrajectories(
  trajectories: readonly Trajectory[],
  { promptLength, responseLength, padTokenId }: AssembleOptions,
): AssembledTrajectories {
  const rows = trajectories.length;
  const width = promptLength + responseLength;
  const prompts = new Int32Array(rows * promptLength).fill(padTokenId);
  const responses = new Int32Array(rows * responseLength).fill(padTokenId);
  const responseMask = new Int32Array(rows * responseLength);
  const logProbs = new Float32Array(rows * responseLength);
  const inputIds = new Int32Array(rows * width);
  const attention = new Int32Array(rows * width);
  const positions = new Int32Array(rows * width);
  const scores = new Float32Array(rows * responseLength);
  const count = Int32Array.from({ length: width }, (_, position) => position);
  let cut = 0;

  trajectories.forEach((trajectory, row) => {
    const { promptIds, segments } = trajectory;
    prompts.set(promptIds, (row + 1) * promptLength - promptIds.length);

    const start = row * responseLength;
    let length = 0;
    let lastTrainable = -1;
    for (const { ids, logprobs, trainable } of segments) {
      const taken = Math.min(ids.length, responseLength - length);
      const whole = taken === ids.length;
      responses.set(whole ? ids : ids.subarray(0, taken), start + length);
      if (logprobs !== undefined) logProbs.set(whole ? logprobs : logprobs.subarray(0, taken), start + length);
      if (trainable) responseMask.fill(1, start + length, start + length + taken);
      length += taken;
      if (trainable && taken > 0) lastTrainable = length - 1;
      if (!whole) {
        cut += 1;
        break;
      }
    }

    const from = row * width;
    inputIds.set(prompts.subarray(row * promptLength, (row + 1) * promptLength), from);
    inputIds.set(responses.subarray(start, start + responseLength), from + promptLength);
    const first = from + promptLength - promptIds.length;
    const last = from + promptLength + length;
    attention.fill(1, first, last);
    positions.set(count.subarray(0, last - first), first);
    positions.fill(last - 1 - first, last, from + width);
    // An estimator that goes over trainable tokens would not see it on an observation.
    if (length > 0) scores[start + (lastTrainable < 0 ? length - 1 : lastTrainable)] = trajectory.rewardScore ?? 0;
  });

  const matrix = (columns: number, data: Int32Array): NdArray<"int32"> => new NdArray("int32", [rows, columns], data);
  const ownScores = rows > 0 && trajectories.every(({ rewardScore }) => rewardScore !== undefined);
  return {
    batch: {
      prompts: matrix(promptLength, prompts),
      responses: matrix(responseLength, responses),
      response_mask: matrix(responseLength, responseMask),
      input_ids: matrix(width, inputIds),
      attention_mask: matrix(width, attention),
      position_ids: matrix(width, positions),
      rollout_log_probs: new NdArray("float32", [rows, responseLength], logProbs),
      ...(ownScores ? { rm_scores: new NdArray("float32", [rows, responseLength], scores) } : {}),
    },
    columns: columnsOf(trajectories),
    cut,
  };
}

function columnsOf(trajectories: readonly Trajectory[]): Record<string, unknown[]> {
  const columns: Record<string, unknown[]> = {};
  const names = new Set(trajectories.flatMap(({ extraFields }) => Object.keys(extraFields)));
  for (const name of names) columns[name] = trajectories.map(({ extraFields }) => extraFields[name] ?? null);
  columns.__num_turns__ = trajectories.map(({ numTurns }) => numTurns);
  columns.stop_reason = trajectories.map(({ stopReason }) => stopReason);
  columns.weight_version = trajectories.map(({ weightVersion }) => weightVersion);
  if (trajectories.some(({ rewardScore }) => rewardScore !== undefined)) {
    columns.reward_score = trajectories.map(({ rewardScore }) => rewardScore ?? null);
  }
  return columns;
}
