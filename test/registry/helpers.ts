import { isVerlError, type VerlError } from "../../core/errors/index.ts";
import type { AdvantageEstimator } from "../../core/algorithm/advantage-estimator.ts";
import type { PolicyLoss } from "../../core/algorithm/policy-loss.ts";
import type { EntryMeta } from "../../core/registry/entry.ts";

/** An estimator that is only ever registered. */
export const estimator = (meta: Partial<EntryMeta> = {}): AdvantageEstimator => ({
  description: "An estimator for tests.",
  ...meta,
  compute: ({ token_level_rewards }) => ({ advantages: token_level_rewards, returns: token_level_rewards }),
});

/** A loss that is only ever registered. */
export const loss = (meta: Partial<EntryMeta> = {}): PolicyLoss => ({
  description: "A loss for tests.",
  ...meta,
  compute: ({ log_probs }, _config, agg) => ({ loss: agg(log_probs), metrics: {} }),
});

/** The VerlError that `run` ends with. */
export async function failure(run: () => unknown): Promise<VerlError> {
  try {
    await run();
  } catch (error) {
    if (isVerlError(error)) return error;
    throw error;
  }
  throw new Error("Expected a VerlError, and nothing was thrown.");
}

/** Takes everything out of the process's registries; each test starts from nothing. */
export function clearRegistries(): void {
  delete (globalThis as Record<symbol, unknown>)[Symbol.for("verl.registry.1")];
}
