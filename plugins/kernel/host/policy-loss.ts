import { lossDivisor, NdArray, tokenRuns, type PolicyLossAttrs } from "verl";
import { FORMULAS, type LossFields, type LossNumbers, type LossSums, type Run } from "./loss-formulas.ts";

/** Inputs of the kernel by their names, rows × width, flat. */
export interface PolicyLossArrays {
  readonly logProbs: Float32Array;
  readonly oldLogProbs: Float32Array;
  readonly advantages: Float32Array;
  readonly mask: Float32Array;
  readonly weights?: Float32Array;
  readonly marks?: Float32Array;
}

export interface PolicyLossResult {
  readonly loss: number;
  readonly metrics: readonly [number, number, number];
  /** d loss / d log-prob, rows × width. 0 behind the mask. */
  readonly gradient: Float32Array;
}

/** Loss, metrics and d loss / d log-prob: one loop over the unmasked tokens, or two, row by row, for losses of whole rows. */
export function policyLoss(
  arrays: PolicyLossArrays,
  shape: readonly [rows: number, width: number],
  attrs: PolicyLossAttrs,
): PolicyLossResult {
  const formula = FORMULAS[attrs.loss];
  const [rows, width] = shape;
  const fields = fieldsOf(arrays, width);
  const numbers = numbersOf(attrs);
  const divisor = lossDivisor(attrs, { ofRows: formula.ofRows === true });
  const perLength = attrs.aggregation === "seq-mean-token-mean" && !formula.ofRows;
  const { starts, ends, ofRow } = tokenRuns(new NdArray("float32", shape, arrays.mask));
  const sums: LossSums = { origin: 0, length: 0, share: 0, a: 0, b: 0, c: 0, loss: 0, first: 0, second: 0, kl: 0 };
  const overRow = (loop: Run, row: number): void => {
    for (let run = ofRow[row]!; run < ofRow[row + 1]!; run++) loop(fields, starts[run]!, ends[run]!, sums, numbers);
  };
  for (let row = 0; row < rows; row++) {
    if (ofRow[row] === ofRow[row + 1]) continue;
    sums.length = 0;
    for (let run = ofRow[row]!; run < ofRow[row + 1]!; run++) sums.length += ends[run]! - starts[run]!;
    sums.origin = row * width;
    sums.share = 1 / (perLength ? divisor * sums.length : divisor);
    fillShares(fields, sums);
    sums.a = sums.b = sums.c = 0;
    if (formula.ahead) overRow(formula.ahead, row);
    formula.conclude?.(sums);
    overRow(formula.run, row);
  }
  const tokens = Math.max(attrs.tokens, 1);
  const { loss, first, second, kl } = sums;
  return { loss, metrics: [first / tokens, second / tokens, kl / tokens], gradient: fields.slopes };
}

const NONE = new Float32Array();

const fieldsOf = (
  { logProbs, oldLogProbs, advantages, marks = NONE, weights }: PolicyLossArrays,
  width: number,
): LossFields => ({
  x: logProbs,
  old: oldLogProbs,
  adv: advantages,
  marks,
  weights,
  shares: new Float64Array(width),
  slopes: new Float32Array(logProbs.length),
});

function fillShares({ weights, shares }: LossFields, { origin, share }: LossSums): void {
  if (weights === undefined) shares.fill(share);
  else for (let i = 0; i < shares.length; i++) shares[i] = weights[origin + i]! * share;
}

const numbersOf = ({ low, high, first, second }: PolicyLossAttrs): LossNumbers => ({
  low: Math.fround(low),
  high: Math.fround(high),
  floor: Math.fround(1 - low),
  ceiling: Math.fround(1 + high),
  first: Math.fround(first),
  second: Math.fround(second),
});
