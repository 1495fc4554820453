import { DataProto, IS_PAD, type DispatchMode } from "verl";
import { batchLength, shardBatches } from "./shard-batches.ts";

export const dpComputeProto: DispatchMode = {
  description:
    "Splits batches evenly over the ranks, padding where the row count does not divide, and joins the ranks' batches again without the padding.",
  departures: ["Arguments that are no batch go to every rank; verl refuses them."],
  dispatch: shardBatches,
  collect(_target, outputs, args) {
    const joined = DataProto.concat(outputs as readonly DataProto[]);
    // Results that lost the padding flags still have the padding last.
    return joined.batch.has(IS_PAD) ? joined.unpad() : joined.slice(0, batchLength(args));
  },
};
