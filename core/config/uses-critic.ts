import { registries } from "../registry/index.ts";
import type { Known } from "./known-values.ts";
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

/** The same of a config that may have problems; false where it is not known. */
export function knownToUseCritic(known: Known): boolean {
  const [enable, adv_estimator] = [known("critic.enable"), known("algorithm.adv_estimator")];
  if (enable === undefined || typeof adv_estimator !== "string") return false;
  return usesCritic({ critic: { enable: enable as boolean | null }, algorithm: { adv_estimator } });
}
