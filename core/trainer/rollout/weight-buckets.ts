import type { NdArray } from "../../batch/nd-array.ts";
import type { WeightMap } from "../../engine/training-engine.ts";

/** A part of a model's weights. */
export interface WeightBucket {
  readonly weights: WeightMap;
  readonly last: boolean;
}

/** The weights in their order, in parts of at most so many bytes; a weight that is larger has a part of its own. At least one part. */
export function bucketsOf(weights: WeightMap, bytes: number): WeightBucket[] {
  const parts = [new Map<string, NdArray<"float32">>()];
  let held = 0;
  for (const [name, array] of weights) {
    const { byteLength } = array.data;
    if (held > 0 && held + byteLength > bytes) {
      parts.push(new Map<string, NdArray<"float32">>());
      held = 0;
    }
    parts.at(-1)!.set(name, array);
    held += byteLength;
  }
  return parts.map((part, index) => ({ weights: part, last: index === parts.length - 1 }));
}
