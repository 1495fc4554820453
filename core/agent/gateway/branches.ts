import type { Segment, Trajectory } from "../trajectory.ts";
import { pathTo, type Exchange } from "./exchange.ts";

/** Which branch stands for a sample whose agent had several conversations. */
export type BranchRule = "longest" | "last" | "fail";

/** The exchanges that nothing goes on from: each ends a branch. */
export function branchEnds(exchanges: readonly Exchange[]): Exchange[] {
  const continued = new Set(exchanges.map(({ parent }) => parent));
  return exchanges.filter((exchange) => !continued.has(exchange));
}

/** Sampled tokens on the way to an exchange. */
export const sampledTokens = (end: Exchange): number => pathTo(end).reduce((sum, { ids }) => sum + ids.length, 0);

/** The branch that the rule names; of equals the last. `fail` leaves the choice of several to the caller. */
export function pickBranch(ends: readonly Exchange[], rule: BranchRule): Exchange | undefined {
  if (rule === "fail" && ends.length > 1) return undefined;
  if (rule !== "longest") return ends.at(-1);
  const lengths = ends.map(sampledTokens);
  return ends[lengths.lastIndexOf(lengths.reduce((most, length) => Math.max(most, length), 0))];
}

/**
 * A branch as one trajectory. Ids, log-probs and mask are those of the requests: nothing is encoded anew.
 * @param taken how many tokens, from an answer's start, are not trained on. Default: none.
 */
export function trajectoryOf(end: Exchange, taken: (exchange: Exchange) => number = () => 0): Trajectory {
  const path = pathTo(end);
  const { added: beginning, promptLength } = path[0]!.exchange;
  const segments = path.flatMap(({ exchange, ids, logprobs }, index): Segment[] => {
    const observed = index === 0 ? beginning.subarray(promptLength) : exchange.added;
    const from = taken(exchange);
    return [
      { ids: observed, trainable: false },
      { ids: ids.subarray(0, from), logprobs: logprobs.subarray(0, from), trainable: false },
      { ids: ids.subarray(from), logprobs: logprobs.subarray(from), trainable: true },
    ];
  });
  return {
    promptIds: beginning.subarray(0, promptLength),
    segments: segments.filter(({ ids }) => ids.length > 0),
    stopReason: end.answer.stopReason,
    numTurns: 2 * path.length,
    extraFields: {},
    weightVersion: Math.min(...path.map(({ exchange }) => exchange.answer.weightVersion)),
  };
}

/**
 * Every branch as a trajectory, in the order in which they ended. Tokens that several branches share are trained on in the first of them
 * alone, so that none counts twice.
 */
export function trajectoriesOf(exchanges: readonly Exchange[]): Trajectory[] {
  const taken = new Map<Exchange, number>();
  const takenOf = (exchange: Exchange): number => taken.get(exchange) ?? 0;
  return branchEnds(exchanges).map((end) => {
    const trajectory = trajectoryOf(end, takenOf);
    for (const { exchange, ids } of pathTo(end)) taken.set(exchange, Math.max(takenOf(exchange), ids.length));
    return trajectory;
  });
}
