import * as tf from "@tensorflow/tfjs";
import type { KlPenalty } from "verl";

/**
 * The divergence itself in place of an estimate from the sampled token, with its own gradient.
 *
 *     KL(π_θ ‖ π_ref) = Σ_v π_θ(v) (log π_θ(v) − log π_ref(v))
 */
export const full: KlPenalty = {
  description: "The exact divergence, a sum over the whole vocabulary.",
  paper: "Kullback & Leibler 1951, On information and sufficiency, doi 10.1214/aoms/1177729694",
  departures: ["verl names `full` and raises NotImplementedError for it."],
  over: "vocabulary",
  compute: (logProbs, refLogProbs) => tf.sum(tf.mul(tf.exp(logProbs), tf.sub(logProbs, refLogProbs)), -1),
};
