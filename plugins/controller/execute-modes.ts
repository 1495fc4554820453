import { provide } from "verl";

export const executeModes = [
  provide("execute", "ALL", {
    description: "Every rank that the dispatch mode has arguments for runs the call.",
    ranks: (count) => Array.from({ length: count }, (_, rank) => rank),
  }),
  provide("execute", "RANK_ZERO", {
    description: "The first rank alone runs the call; the result is a list of one.",
    ranks: () => [0],
  }),
];
