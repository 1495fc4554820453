import * as tf from "@tensorflow/tfjs";
import type { KlPenalty } from "verl";

/**
 * The plain estimator: unbiased, of high variance, negative for many tokens.
 *
 *     k1 = log π_θ − log π_ref
 */
export const k1: KlPenalty = {
  description: "Difference of log-probs.",
  paper: "Schulman, Approximating KL Divergence, http://joschu.net/blog/kl-approx.html",
  aliases: ["kl"],
  compute: (logProb, refLogProb) => tf.sub(logProb, refLogProb),
};
