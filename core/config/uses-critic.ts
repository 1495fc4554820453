import { registries } from "../registry/index.ts";
import type { PpoConfig } from "./schema/index.ts";

interface CriticKeys {
  readonly critic: Pick<PpoConfig["critic"], "enable">;
  readonly algorithm: Pick<PpoConfig["algorithm"], "adv_estimator">;
}

/**
 * Whether a run has a critic: `critic.enable`, or, where that is null, whether the advantage estimator reads values. Before plugins are
 * loaded only the built-in one that does is known.
 */
export function usesCritic({ critic, algorithm }: CriticKeys): boolean {
  if (critic.enable !== null) return critic.enable;
  const estimator = registries.adv_estimator.get(algorithm.adv_estimator);
  return estimator ? (estimator.requires?.includes("values") ?? false) : algorithm.adv_estimator === "gae";
}
