import * as tf from "@tensorflow/tfjs";
import { VerlError } from "../errors/index.ts";
import { inNameOf, registries } from "../registry/index.ts";
import type { KlPenalty } from "./kl-penalty.ts";
import { requireTensor } from "./require-tensor.ts";

/** The registry's key in `kl_penalty` or `kl_loss_type`, which may have a `+` behind it. */
export const klPenaltyKey = (spelling: string): string => spelling.replace(/\+$/, "");

/**
 * The KL estimator under a key. With a `+` after the key, its value comes with the gradient of ½(log π_θ − log π_ref)², whose
 * expectation is the gradient of the KL itself (Schulman, "Approximating KL Divergence").
 * @throws VERL_REGISTRY_KEY_UNKNOWN; VERL_ALGORITHM_CONFIG for a `+` after an estimator whose own gradient is already that.
 */
export function resolveKlPenalty(spelling: string): Pick<KlPenalty, "compute" | "over"> {
  const key = klPenaltyKey(spelling);
  const estimator = registries.kl_penalty.resolve(key);
  const { over } = estimator;
  const compute: KlPenalty["compute"] = (logProb, refLogProb) =>
    inNameOf("kl_penalty", key, () => {
      const kl = estimator.compute(logProb, refLogProb);
      requireTensor(kl, logProb.shape.slice(0, 2), "one number a token");
      return kl;
    });
  if (key === spelling) return { compute, over };
  if (over === "vocabulary") {
    throw new VerlError(
      "VERL_ALGORITHM_CONFIG",
      `The KL estimator "${spelling}" has a gradient that needs no replacement.`,
      {
        hint: `Write "${key}", without the +.`,
      },
    );
  }
  return {
    compute: (logProb, refLogProb) =>
      straightThrough(compute(logProb, refLogProb), tf.mul(0.5, tf.square(tf.sub(logProb, refLogProb)))),
  };
}

/** The first argument's value with the second one's gradient. */
export const straightThrough = (value: tf.Tensor2D, surrogate: tf.Tensor2D): tf.Tensor2D =>
  tf.customGrad((of: unknown) => ({
    value: tf.clone(of as tf.Tensor),
    gradFunc: (dy: tf.Tensor) => [tf.zerosLike(dy), dy],
  }))(value, surrogate) as tf.Tensor2D;
