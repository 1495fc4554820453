import type { NdArray } from "../../batch/nd-array.ts";
import { VerlError } from "../../errors/verl-error.ts";

/** What the correction compares; each rows × response length. */
export interface RolloutCorrectionInput {
  /** log π_train of the sampled tokens: recomputed old log-probs, or in bypass mode the current ones. */
  old_log_probs: NdArray<"float32">;
  /** log π_rollout of the same tokens, as the sampler gave them. */
  rollout_log_probs: NdArray<"float32">;
  response_mask: NdArray<"float32" | "int32">;
}

/** The unmasked tokens, packed row after row; rows without any are left out. What stands behind the mask is gone from here on. */
export interface UnmaskedTokens {
  /** Δ = log π_train − log π_rollout of each token. */
  readonly logRatio: Float64Array;
  /** Place of each token in the matrix, row-major. */
  readonly at: Int32Array;
  /** First token of each row, and the count of tokens at the end. */
  readonly starts: Int32Array;
}

/** @throws VERL_ALGORITHM_SHAPE; VERL_ALGORITHM_LOG_PROB for an unmasked log-prob that is not finite. */
export function unmaskedTokens(input: RolloutCorrectionInput): UnmaskedTokens {
  const { old_log_probs, rollout_log_probs, response_mask } = input;
  requireShape("old_log_probs", old_log_probs, response_mask);
  requireShape("rollout_log_probs", rollout_log_probs, response_mask);
  const mask = response_mask.data;
  const width = response_mask.rowSize;
  const at = new Int32Array(mask.length);
  const starts: number[] = [0];
  let count = 0;
  for (let row = 0, i = 0; row < response_mask.rows; row++) {
    for (const end = i + width; i < end; i++) if (mask[i] !== 0) at[count++] = i;
    if (count > starts.at(-1)!) starts.push(count);
  }
  const logRatio = new Float64Array(count);
  for (let token = 0; token < count; token++) {
    const i = at[token]!;
    logRatio[token] = old_log_probs.data[i]! - rollout_log_probs.data[i]!;
    if (!Number.isFinite(logRatio[token])) throw notFinite(input, i, width);
  }
  return { logRatio, at: at.subarray(0, count), starts: Int32Array.from(starts) };
}

function requireShape(field: string, array: NdArray, mask: NdArray): void {
  if (array.shape.length === mask.shape.length && array.shape.every((extent, axis) => extent === mask.shape[axis]))
    return;
  throw new VerlError(
    "VERL_ALGORITHM_SHAPE",
    `${field} of shape [${array.shape.join(", ")}] does not fit response_mask of shape [${mask.shape.join(", ")}].`,
    { hint: "Rollout correction compares token by token: all three are rows × response length." },
  );
}

function notFinite({ old_log_probs, rollout_log_probs }: RolloutCorrectionInput, i: number, width: number): VerlError {
  return new VerlError(
    "VERL_ALGORITHM_LOG_PROB",
    `Row ${Math.floor(i / width)}, token ${i % width}: the trainer's log-prob is ${old_log_probs.data[i]}, the sampler's ${rollout_log_probs.data[i]}.`,
    {
      hint: "Both must be finite where response_mask is 1. Check the sampler's log-probs and the model's last update.",
    },
  );
}
