import type { Tensor, Tensor2D } from "@tensorflow/tfjs";
import type { EntryMeta } from "../registry/entry.ts";

/** Estimator of KL(π_θ ‖ π_ref) from the log-probs of sampled tokens; a `+` after the key makes its gradient that of ½(log π_θ − log π_ref)². */
export interface KlPenalty extends EntryMeta {
  /**
   * `vocabulary`: `compute` receives the log-probs of all tokens, rows × response length × vocabulary, in place of those of the sampled
   * ones. The run keeps them for every position, so this is for small vocabularies. Absent: sampled tokens.
   */
  readonly over?: "vocabulary";
  /**
   * Differentiable in `logProb`. Each token stands alone.
   * @param logProb rows × response length, or one axis more with `over: "vocabulary"`. @param refLogProb likewise. @returns rows × response length.
   */
  compute(logProb: Tensor, refLogProb: Tensor): Tensor2D;
}

declare module "../registry/entry.ts" {
  interface EntryOf {
    kl_penalty: KlPenalty;
  }
}
