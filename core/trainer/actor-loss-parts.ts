import type { PolicyLossConfig } from "../algorithm/policy-loss.ts";
import { resolveKlPenalty } from "../algorithm/straight-through.ts";
import type { PpoConfig } from "../config/index.ts";
import { registries, resolveOptions } from "../registry/index.ts";
import type { ActorLossParts } from "./actor-loss.ts";

/** The actor's loss as the config chooses it. @throws VERL_REGISTRY_KEY_UNKNOWN, VERL_OPTIONS_INVALID */
export function actorLossParts({ actor_rollout_ref: { actor } }: PpoConfig): ActorLossParts {
  const { loss_mode } = actor.policy_loss;
  const policyLoss = registries.policy_loss.resolve(loss_mode);
  // The section holds the options of every loss; those of the others lie idle.
  const own = Object.keys(policyLoss.optionsSchema?.properties ?? {});
  const given = Object.fromEntries(Object.entries(actor.policy_loss).filter(([option]) => own.includes(option)));
  const policy_loss = { loss_mode, ...resolveOptions("policy_loss", loss_mode, given) };
  const config: PolicyLossConfig = { ...actor, policy_loss };
  return {
    policyLoss,
    config,
    extraFields: [...(policyLoss.requires ?? []), ...actor.select_keys],
    entropyCoeff: actor.entropy_coeff,
    calculateEntropy: actor.calculate_entropy,
    ...(actor.use_kl_loss && {
      kl: { penalty: resolveKlPenalty(actor.kl_loss_type), coef: actor.kl_loss_coef },
    }),
  };
}
