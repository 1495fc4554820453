import { fastExp } from "verl";

/**
 * Running sums over logits of one row, in float64: with z a logit over the temperature, d = z − max z and e = exp(d),
 *
 *     ones  logits equal to the largest        of the others:  rest = Σ e    moment = Σ d e    squares = Σ e²
 *
 * Sums of d rather than of z keep the entropy exact where logits are large; what equals the maximum is counted apart from the rest, so that
 * the log of the mass keeps its digits where almost all of it is one token's.
 */
export interface RowSums {
  /** The largest logit, not over the temperature: so float32 holds it. */
  top: number;
  ones: number;
  rest: number;
  moment: number;
  squares: number;
}

export const emptySums = (): RowSums => ({ top: -Infinity, ones: 0, rest: 0, moment: 0, squares: 0 });

/** Logits whose maximum is sought before they are folded: they are still in the nearest cache then. */
const BLOCK = 1024;
/** Below it e^d is nothing beside 1, and −∞ must not become NaN. */
const SMALLEST = -700;

/** Folds logits [start, end) of a row into its sums (Milakov and Gimelshein 2018). @param scale 1 / temperature. */
export function foldLogits(sums: RowSums, logits: Float32Array, start: number, end: number, scale: number): void {
  for (let from = start; from < end; from += BLOCK) {
    const to = from + BLOCK < end ? from + BLOCK : end;
    let top = sums.top;
    for (let i = from; i < to; i++) if (logits[i]! > top) top = logits[i]!;
    if (top > sums.top) rise(sums, top, scale);
    let { ones, rest, moment, squares } = sums;
    for (let i = from; i < to; i++) {
      const d = (logits[i]! - top) * scale;
      if (d === 0) ones++;
      else if (d > SMALLEST) {
        const e = fastExp(d);
        rest += e;
        moment += d * e;
        squares += e * e;
      } else if (d !== d) rest = NaN;
    }
    sums.ones = ones;
    sums.rest = rest;
    sums.moment = moment;
    sums.squares = squares;
  }
}

/** Sums of the same logits beside a larger one. */
function rise(sums: RowSums, top: number, scale: number): void {
  const { ones, rest } = sums;
  const d = Math.max((sums.top - top) * scale, SMALLEST);
  const e = fastExp(d);
  sums.top = top;
  sums.ones = 0;
  sums.rest = (rest + ones) * e;
  sums.moment = (sums.moment + d * (rest + ones)) * e;
  sums.squares = (sums.squares + ones) * e * e;
}

/** Outputs of the kernels, [rows] each; of `normaliser` there are `NORMALISER` numbers a row. */
export interface RowOutputs {
  readonly logProbs: Float32Array;
  readonly entropy: Float32Array;
  readonly logSumExp: Float32Array;
  readonly sumPiSquared: Float32Array;
  readonly normaliser: Float32Array;
}

/** Largest logit, log Σ e, and 1 − Σ π², which float32 would lose beside a Σ π² near 1. */
export const NORMALISER = 3;

/** What a row's sums say. @param chosen logit of its target; NaN for a target that is none. */
export function concludeRow(out: RowOutputs, row: number, sums: RowSums, chosen: number, scale: number): void {
  const { top, ones, rest, moment, squares } = sums;
  const mass = ones + rest;
  const logMass = Math.log(ones) + Math.log1p(rest / ones);
  out.logProbs[row] = (chosen - top) * scale - logMass;
  out.entropy[row] = logMass - moment / mass;
  out.logSumExp[row] = top * scale + logMass;
  out.sumPiSquared[row] = (ones + squares) / (mass * mass);
  out.normaliser[row * NORMALISER] = top;
  out.normaliser[row * NORMALISER + 1] = logMass;
  out.normaliser[row * NORMALISER + 2] = (ones * (ones - 1) + rest * (2 * ones + rest) - squares) / (mass * mass);
}
