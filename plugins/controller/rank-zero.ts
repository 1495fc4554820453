import type { DispatchMode } from "verl";

export const rankZero: DispatchMode = {
  description: "Calls the first rank alone; the result is a list of one.",
  departures: ["verl names RANK_ZERO but registers no functions for it, so that using it fails; here it works."],
  dispatch: (_target, args) => [args],
  collect: (_target, outputs) => outputs,
};
