import { DataProto, type DispatchMode } from "verl";
import { batchLength, shardBatches } from "./shard-batches.ts";

export const dpComputeProto: DispatchMode = {
  description:
    "Splits batches evenly over the ranks, padding where the row count does not divide, and joins the ranks' batches again without the padding.",
  departures: ["Arguments that are no batch go to every rank; verl refuses them."],
  dispatch: shardBatches,
  collect: (_target, outputs, args) =>
    DataProto.concat(outputs as readonly DataProto[])
      .slice(0, batchLength(args))
      .unpad(),
};
