import * as tf from "@tensorflow/tfjs";
import type { KlPenalty } from "verl";

const MAX_LOG_RATIO = 20;
const MAX_PENALTY = 10;

/**
 * Unbiased, of low variance, never negative.
 *
 *     k3 = e^x − x − 1,   x = log π_ref − log π_θ
 *
 * As in verl, x is kept in ±20 and the result below 10; beyond that there is no gradient.
 */
export const k3: KlPenalty = {
  description: "Low-variance estimator, always 0 or more.",
  paper: "Schulman, Approximating KL Divergence, http://joschu.net/blog/kl-approx.html",
  aliases: ["low_var_kl"],
  compute(logProb, refLogProb) {
    const x = tf.clipByValue(tf.sub(refLogProb, logProb), -MAX_LOG_RATIO, MAX_LOG_RATIO);
    return tf.clipByValue(tf.sub(tf.sub(tf.exp(x), x), 1), -MAX_PENALTY, MAX_PENALTY);
  },
};
