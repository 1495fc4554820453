import { lossDivisor, NdArray, tokenRuns, type PolicyLossAttrs } from "verl";
import type { HostArray, HostKernel } from "./host-kernel.ts";
import { FORMULAS, type LossFields, type LossNumbers, type LossSums, type Run } from "./loss-formulas.ts";

/** All rows × width. */
type Inputs = Readonly<Record<"logProbs" | "oldLogProbs" | "advantages" | "mask", HostArray>> & {
  readonly weights?: HostArray;
  readonly marks?: HostArray;
};

/** Loss, metrics and d loss / d log-prob: one loop over the unmasked tokens, or two, row by row, for losses of whole rows. */
export const policyLoss: HostKernel<Inputs, PolicyLossAttrs> = (inputs, attrs) => {
  const { shape } = inputs.logProbs;
  const formula = FORMULAS[attrs.loss];
  const [rows, width] = shape as [number, number];
  const fields = fieldsOf(inputs, width);
  const numbers = numbersOf(attrs);
  const divisor = lossDivisor(attrs, { ofRows: formula.ofRows === true });
  const perLength = attrs.aggregation === "seq-mean-token-mean" && !formula.ofRows;
  const { starts, ends, ofRow } = tokenRuns(new NdArray("float32", [rows, width], inputs.mask.values));
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
  const scalars = [loss, first / tokens, second / tokens, kl / tokens];
  return [...scalars.map((value) => ({ values: Float32Array.of(value), shape: [] })), { values: fields.slopes, shape }];
};

const NONE = new Float32Array();

const fieldsOf = (inputs: Inputs, width: number): LossFields => ({
  x: inputs.logProbs.values,
  old: inputs.oldLogProbs.values,
  adv: inputs.advantages.values,
  marks: inputs.marks?.values ?? NONE,
  weights: inputs.weights?.values,
  shares: new Float64Array(width),
  // 0 behind the mask, where nothing is written.
  slopes: new Float32Array(inputs.logProbs.values.length),
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
