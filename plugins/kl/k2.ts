import * as tf from "@tensorflow/tfjs";
import type { KlPenalty } from "verl";

/**
 * Biased, of low variance, never negative; the expectation of its gradient is the gradient of the KL.
 *
 *     k2 = ½ (log π_θ − log π_ref)²
 */
export const k2: KlPenalty = {
  description: "Half the squared difference of log-probs.",
  paper: "Schulman, Approximating KL Divergence, http://joschu.net/blog/kl-approx.html",
  aliases: ["mse"],
  compute: (logProb, refLogProb) => tf.mul(0.5, tf.square(tf.sub(logProb, refLogProb))),
};
