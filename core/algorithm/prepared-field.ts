import * as tf from "@tensorflow/tfjs";
import { NdArray } from "../batch/nd-array.ts";
import type {
  PolicyLoss,
  PolicyLossConfig,
  PolicyLossContext,
  PolicyLossInput,
  PolicyLossStep,
} from "./policy-loss.ts";

const NO_METRICS: PolicyLossContext = { metric: () => {} };

/**
 * A field that the loss's `prepare` adds. Where nobody called `prepare`, as when a loss is tried out by itself, the batch at hand is
 * taken for the whole step.
 */
export function preparedField(
  loss: PolicyLoss,
  name: string,
  input: PolicyLossInput,
  config: PolicyLossConfig,
): tf.Tensor2D {
  const given = input[name] as tf.Tensor2D | undefined;
  if (given) return given;
  const constants = Object.entries(input).flatMap(([field, tensor]) =>
    tensor ? [[field, new NdArray("float32", tensor.shape, Float32Array.from(tensor.dataSync()))] as const] : [],
  );
  const step = Object.fromEntries(constants) as PolicyLossStep;
  const { data, shape } = loss.prepare!(step, config, NO_METRICS)[name]!;
  return tf.tensor2d(data as Float32Array, shape as [number, number], "float32");
}
