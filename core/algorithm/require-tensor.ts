import * as tf from "@tensorflow/tfjs";
import { VerlError } from "../errors/verl-error.ts";

/** Entries come from plugins, which may return anything. @throws VERL_ALGORITHM_SHAPE @param asked the shape in words. */
export function requireTensor(value: unknown, shape: readonly number[], asked: string): void {
  const got = value instanceof tf.Tensor ? (value as tf.Tensor).shape : undefined;
  if (got?.join() === shape.join()) return;
  const what = got === undefined ? "no tensor" : `a tensor of shape [${got.join(", ")}]`;
  throw new VerlError("VERL_ALGORITHM_SHAPE", `it returned ${what}, not one of shape [${shape.join(", ")}]: ${asked}.`);
}
