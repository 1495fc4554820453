import type { DispatchMode } from "verl";

/**
 * The caller has already laid the arguments out: a call whose arguments are all arrays of length `worldSize` gives rank i the i-th
 * element of each; any other call goes to every rank as it is.
 */
export const allToAll: DispatchMode = {
  description: "Passes arguments on as the caller laid them out; results come back as a list, one a rank.",
  dispatch({ worldSize }, args) {
    const laidOut =
      args.length > 0 && args.every((arg): arg is unknown[] => Array.isArray(arg) && arg.length === worldSize);
    return Array.from({ length: worldSize }, (_, rank) => (laidOut ? args.map((arg) => arg[rank]) : args));
  },
  collect: (_target, outputs) => outputs,
};
