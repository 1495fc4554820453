import type { AdvantageInput } from "./advantage-estimator.ts";

/** The response mask without the unscored rows: what takes part in statistics over tokens. */
export function scoredMask({ response_mask, unscored }: AdvantageInput): Float32Array {
  if (!unscored?.includes(1)) return response_mask.data;
  const mask = response_mask.data.slice();
  const width = response_mask.rowSize;
  unscored.forEach((missing, row) => missing && mask.fill(0, row * width, (row + 1) * width));
  return mask;
}
