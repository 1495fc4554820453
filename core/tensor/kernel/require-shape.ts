import type * as tf from "@tensorflow/tfjs";
import { VerlError } from "../../errors/verl-error.ts";

/** Kernels read as far as one input goes, whatever the others are. @throws VERL_TENSOR_SHAPE */
export function requireShape(name: string, { shape }: tf.Tensor, wanted: readonly number[]): void {
  if (shape.join() === wanted.join()) return;
  throw new VerlError("VERL_TENSOR_SHAPE", `\`${name}\` is [${shape.join(", ")}], not [${wanted.join(", ")}].`, {
    hint: "Inputs that belong to the same tokens have one shape; there is one target, or group, a row.",
  });
}
