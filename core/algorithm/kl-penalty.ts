import type { Tensor2D } from "@tensorflow/tfjs";
import type { EntryMeta } from "../registry/entry.ts";

/** Estimator of KL(π_θ ‖ π_ref) from the log-probs of sampled tokens; a `+` after the key makes its gradient that of ½(log π_θ − log π_ref)². */
export interface KlPenalty extends EntryMeta {
  /** Elementwise, differentiable in `logProb`; rows × response length. */
  compute(logProb: Tensor2D, refLogProb: Tensor2D): Tensor2D;
}

declare module "../registry/entry.ts" {
  interface EntryOf {
    kl_penalty: KlPenalty;
  }
}
