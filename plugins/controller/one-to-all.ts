import type { DispatchMode } from "verl";

/** Every rank gets the same arguments. */
export const oneToAll: DispatchMode = {
  description: "Gives every rank the same arguments and returns the results as a list, one a rank.",
  dispatch: ({ worldSize }, args) => Array.from({ length: worldSize }, () => args),
  collect: (_target, outputs) => outputs,
};
