import { inverseOrder } from "../batch/balance.ts";
import { DataProto } from "../batch/data-proto.ts";
import type { Peers } from "../controller/peers.ts";
import type { PolicyLossStep } from "../algorithm/policy-loss.ts";
import type { TrainingEngine } from "../engine/training-engine.ts";
import { inNameOf } from "../registry/index.ts";
import type { ActorLossParts } from "./actor-loss.ts";
import type { UpdatePlan } from "./actor-update.ts";
import { forwardInParts } from "./forward-in-parts.ts";
import type { MiniBatch } from "./mini-batches.ts";

/** A mini-batch with the fields that its loss adds to it as a whole, and the metrics that it reports of it. */
export interface PreparedMiniBatch {
  batch: DataProto;
  metrics: Record<string, number>;
}

/**
 * What runs the policy loss's `prepare` on a mini-batch; undefined for losses that need none. Ranks bring their rows together for it.
 * @param fields that the loss reads.
 */
export function lossPreparation(
  engine: TrainingEngine,
  { policyLoss, config }: ActorLossParts,
  fields: readonly string[],
  { microBatch, temperature }: UpdatePlan,
  peers: Peers,
): ((miniBatch: MiniBatch) => Promise<PreparedMiniBatch>) | undefined {
  if (!policyLoss.prepare) return undefined;
  return async ({ batch, places }) => {
    const { log_probs } = await forwardInParts(engine, batch, microBatch, { temperature, outputs: ["log_probs"] });
    const own = DataProto.fromSingleDict({
      ...Object.fromEntries(fields.map((field) => [field, batch.tensor(field)])),
      log_probs,
    });
    const whole = peers.worldSize === 1 ? own : await joinShares(peers, own, places);
    const step = Object.fromEntries(whole.batch) as PolicyLossStep;
    const metrics: Record<string, number> = {};
    const ownAdded = inNameOf("policy_loss", config.policy_loss.loss_mode, () =>
      DataProto.fromSingleDict(
        policyLoss.prepare!(step, config, { metric: (name, value) => void (metrics[name] = value) }),
      ),
    );
    return { batch: batch.union(peers.worldSize === 1 ? ownAdded : ownAdded.index(places), "replace"), metrics };
  };
}

/** The whole mini-batch, in its order, from each rank's rows. */
async function joinShares(peers: Peers, rows: DataProto, places: Int32Array): Promise<DataProto> {
  const shares = await peers.exchange({ rows, places });
  const order = inverseOrder(shares.flatMap((share) => [...share.places]));
  return DataProto.concat(shares.map((share) => share.rows)).index(order);
}
