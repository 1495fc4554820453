import { DataProto } from "../batch/data-proto.ts";
import type { PolicyLossStep } from "../algorithm/policy-loss.ts";
import type { TrainingEngine } from "../engine/training-engine.ts";
import type { ActorLossParts } from "./actor-loss.ts";
import type { UpdatePlan } from "./actor-update.ts";
import { forwardInParts } from "./forward-in-parts.ts";

/** A mini-batch with the fields that its loss adds to it as a whole, and the metrics that it reports of it. */
export interface PreparedMiniBatch {
  batch: DataProto;
  metrics: Record<string, number>;
}

/** What runs the policy loss's `prepare` on a mini-batch; undefined for losses that need none. @param fields that the loss reads. */
export function lossPreparation(
  engine: TrainingEngine,
  { policyLoss, config }: ActorLossParts,
  fields: readonly string[],
  { microBatch, temperature }: UpdatePlan,
): ((miniBatch: DataProto) => Promise<PreparedMiniBatch>) | undefined {
  if (!policyLoss.prepare) return undefined;
  return async (miniBatch) => {
    const { log_probs } = await forwardInParts(engine, miniBatch, microBatch, { temperature, outputs: ["log_probs"] });
    const known = Object.fromEntries(fields.map((field) => [field, miniBatch.tensor(field)]));
    const step = { ...known, log_probs } as unknown as PolicyLossStep;
    const metrics: Record<string, number> = {};
    const added = policyLoss.prepare!(step, config, { metric: (name, value) => void (metrics[name] = value) });
    return { batch: miniBatch.union(DataProto.fromSingleDict(added), "replace"), metrics };
  };
}
