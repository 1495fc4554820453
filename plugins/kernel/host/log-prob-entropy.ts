import type { LogProbAttrs } from "verl";
import type { HostArray, HostKernel, Room } from "./host-kernel.ts";
import { rowSlope, writeRowGradient, type RowGradientInputs } from "./row-gradient.ts";
import { concludeRow, emptySums, foldLogits, NORMALISER, type RowOutputs } from "./row-statistics.ts";

interface Inputs {
  /** [rows, columns]. */
  readonly logits: HostArray;
  /** [rows]. */
  readonly targets: HostArray<Int32Array>;
}

/** Log-prob, entropy, log-sum-exp, Σπ² and normaliser of each row. */
export const logProbEntropy: HostKernel<Inputs, LogProbAttrs> = ({ logits, targets }, attrs, room) => {
  const { columns } = attrs;
  const rows = targets.values.length;
  const scale = 1 / attrs.temperature;
  const outputs = rowOutputs(rows, room);
  for (let row = 0; row < rows; row++) {
    const start = row * columns;
    const sums = emptySums();
    foldLogits(sums, logits.values, start, start + columns, scale);
    const target = targets.values[row]!;
    const chosen = target >= 0 && target < columns ? logits.values[start + target]! : NaN;
    concludeRow(outputs, row, sums, chosen, scale);
  }
  return listed(outputs);
};

/** The gradient of the logits: one read, one write. */
export const logProbEntropyGradient: HostKernel<Inputs & RowGradientInputs, LogProbAttrs> = (inputs, attrs, room) => {
  const { logits, targets } = inputs;
  const { columns } = attrs;
  const scale = 1 / attrs.temperature;
  const gradient = room(logits.values.length);
  for (let row = 0; row < targets.values.length; row++) {
    const start = row * columns;
    const target = start + targets.values[row]!;
    const slope = rowSlope(inputs, row, scale);
    writeRowGradient(gradient, logits.values, start, start + columns, target, slope, scale);
  }
  return [{ values: gradient, shape: logits.shape }];
};

export const rowOutputs = (rows: number, room: Room): RowOutputs => ({
  logProbs: room(rows),
  entropy: room(rows),
  logSumExp: room(rows),
  sumPiSquared: room(rows),
  normaliser: room(rows * NORMALISER),
});

/** In the order of the kernels' outputs. */
export function listed({ logProbs, entropy, logSumExp, sumPiSquared, normaliser }: RowOutputs): HostArray[] {
  const shape = [logProbs.length];
  const rows = [logProbs, entropy, logSumExp, sumPiSquared].map((values) => ({ values, shape }));
  return [...rows, { values: normaliser, shape: [...shape, NORMALISER] }];
}
