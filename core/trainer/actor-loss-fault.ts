import { klPenaltyKey } from "../algorithm/straight-through.ts";
import type { PpoConfig } from "../config/index.ts";
import { VerlError } from "../errors/index.ts";
import { asFaultOf, registries } from "../registry/index.ts";

/**
 * A loss of the actor that is not finite although all that it was given is, or that is constant, as the fault of the entry that made
 * it so: the first part that is not finite names it. Where all of several parts are not, it is what they have in common.
 * @param metrics of the loss, among them its parts.
 */
export function actorLossFault(
  { actor_rollout_ref: { actor } }: PpoConfig,
  error: VerlError,
  metrics: Readonly<Record<string, number>>,
): unknown {
  const { loss_mode } = actor.policy_loss;
  if (error.code === "VERL_ENGINE_LOSS_CONSTANT") return asFaultOf("policy_loss", loss_mode, error);
  if (error.code !== "VERL_ENGINE_NOT_FINITE") return error;
  const parts = ["actor/pg_loss", "actor/entropy_loss", "actor/kl_loss"].filter((part) => part in metrics);
  const bad = parts.filter((part) => !Number.isFinite(metrics[part]));
  if ((parts.length > 1 && bad.length === parts.length) || bad[0] === "actor/entropy_loss") {
    return asFaultOf("loss_agg", actor.loss_agg_mode, error);
  }
  if (bad[0] === "actor/pg_loss")
    return asFaultOf("policy_loss", loss_mode, withAggregation(error, actor.loss_agg_mode));
  return bad[0] === undefined ? error : asFaultOf("kl_penalty", klPenaltyKey(actor.kl_loss_type), error);
}

/** A loss that stands alone may owe its value to what aggregates it. */
function withAggregation({ code, message, hint, cause, details }: VerlError, mode: string): VerlError {
  const { key, source } = registries.loss_agg.find(mode);
  const more = `It was aggregated by "${key}" of ${source}.`;
  return new VerlError(code, message, { hint: [hint, more].filter(Boolean).join(" "), cause, details });
}
