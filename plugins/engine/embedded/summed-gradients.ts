import * as tf from "@tensorflow/tfjs";
import type { SumOverRanks } from "verl";
import type { ByWeight } from "./adamw.ts";
import type { Weights } from "./decoder.ts";

/**
 * The gradients of all ranks, added up. They cross as one array in the order of the weights, so that one sum serves all.
 * @param own this rank's, which are disposed; undefined where it had no rows.
 */
export async function summedGradients(
  weights: Weights,
  own: ByWeight | undefined,
  sumOverRanks: SumOverRanks,
): Promise<ByWeight> {
  const names = Object.keys(weights);
  const flat = new Float32Array(names.reduce((size, name) => size + weights[name]!.size, 0));
  const spans = new Map<string, Float32Array>();
  let offset = 0;
  for (const name of names) {
    const { size } = weights[name]!;
    spans.set(name, flat.subarray(offset, (offset += size)));
  }
  if (own) {
    const read = await Promise.all(names.map(async (name) => [name, await own[name]!.data<"float32">()] as const));
    for (const [name, values] of read) spans.get(name)!.set(values);
    tf.dispose(own);
  }
  await sumOverRanks(flat);
  const tensors = names.map((name) => [name, tf.keep(tf.tensor(spans.get(name)!, weights[name]!.shape))] as const);
  return Object.fromEntries(tensors);
}
