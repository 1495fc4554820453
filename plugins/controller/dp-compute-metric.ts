import { shareArguments, type DispatchMode } from "verl";

export const dpComputeMetric: DispatchMode = {
  description:
    "Splits batches evenly over the ranks, with padding rows flagged, and returns every rank's result in a list.",
  departures: [
    "verl removes as many results as there were padding rows; here every rank's result comes back, and ranks leave padding rows out.",
  ],
  dispatch: (target, args) => shareArguments(target, args, target.worldSize),
  collect: (_target, outputs) => outputs,
};
