import { joinBatches, shareArguments, type DispatchMode } from "verl";

export const dpComputeProto: DispatchMode = {
  description:
    "Splits batches evenly over the ranks, padding where the row count does not divide, and joins the ranks' batches again without the padding.",
  departures: [
    "Arguments that are no batch go to every rank; verl refuses them.",
    "Batches are padded without being asked to; verl wants `auto_padding` in the batch or the environment, and pads in place.",
  ],
  joinsBatches: true,
  dispatch: (target, args) => shareArguments(target, args, target.worldSize),
  collect: ({ worldSize }, outputs, args, ranks) =>
    joinBatches(outputs, args, { ranks, shareOf: Array.from({ length: worldSize }, (_, rank) => rank) }),
};
