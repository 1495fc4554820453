import * as tf from "@tensorflow/tfjs";
import type { KlPenalty } from "verl";

/**
 * Distance of the log-probs, whichever is larger.
 *
 *     |log π_θ − log π_ref|
 */
export const abs: KlPenalty = {
  description: "Absolute difference of log-probs.",
  compute(logProb, refLogProb) {
    const difference = tf.sub(logProb, refLogProb);
    // The sign as a factor has the gradient 0 at 0, which tf.abs has not.
    return tf.mul(difference, tf.sign(difference));
  },
};
