import { fastExp } from "verl";
import type { HostArray } from "./host-kernel.ts";
import { NORMALISER } from "./row-statistics.ts";

/**
 * What the gradient of a row's logits needs of the row. With u = z − log Σ e^z and p = e^u
 *
 *     dz_j = a [j = target] + p (c − a − b (u + H) + d (p − S))
 *
 * for the gradients a of the log-prob, b of the entropy H, c of the log-sum-exp and d/2 of S = Σ π². All times 1/temperature.
 */
export interface RowSlope {
  readonly a: number;
  readonly b: number;
  readonly c: number;
  readonly d: number;
  readonly top: number;
  readonly logMass: number;
  readonly entropy: number;
  /** 1 − S. */
  readonly spread: number;
}

/** What the gradient reads of the forward pass, and the gradients of its outputs, [rows] each but the normaliser. */
export type RowGradientInputs = Readonly<
  Record<"entropy" | "normaliser" | "dLogProb" | "dEntropy" | "dLogSumExp" | "dSumPiSquared", HostArray>
>;

/** @returns undefined for a row that nothing depends on: whatever stands in it, its gradient is 0. */
export function rowSlope(inputs: RowGradientInputs, row: number, scale: number): RowSlope | undefined {
  const { dLogProb, dEntropy, dLogSumExp, dSumPiSquared, entropy, normaliser } = inputs;
  const a = dLogProb.values[row]! * scale;
  const b = dEntropy.values[row]! * scale;
  const c = dLogSumExp.values[row]! * scale;
  const d = 2 * dSumPiSquared.values[row]! * scale;
  if (a === 0 && b === 0 && c === 0 && d === 0) return undefined;
  const at = row * NORMALISER;
  const [top, logMass, spread] = normaliser.values.subarray(at, at + NORMALISER) as unknown as [number, number, number];
  return { a, b, c, d, top, logMass, spread, entropy: entropy.values[row]! };
}

/** Below it p is 0 in float32. */
const SMALLEST = -700;

/**
 * Writes the gradient of logits [start, end) of a row to the same places of `out`, which may be the logits' own array.
 * @param target where the row's target stands, if it is among them.
 */
export function writeRowGradient(
  out: Float32Array,
  logits: Float32Array,
  start: number,
  end: number,
  target: number,
  slope: RowSlope | undefined,
  scale: number,
): void {
  if (slope === undefined) {
    out.fill(0, start, end);
    return;
  }
  const { a, b, c, d, top, logMass, entropy, spread } = slope;
  const hit = target >= start && target < end;
  const chosen = hit ? (logits[target]! - top) * scale - logMass : 0;
  const fixed = c - a - b * entropy + d * (spread - 1);
  for (let i = start; i < end; i++) {
    const u = (logits[i]! - top) * scale - logMass;
    if (u > -0.7) {
      // p − S as a difference of what is missing to 1: beside 1 their digits are lost.
      out[i] = fastExp(u) * (c - a - b * (u + entropy) + d * (spread + Math.expm1(u)));
    } else if (u <= SMALLEST) out[i] = 0;
    else {
      const p = fastExp(u);
      out[i] = p * (fixed - b * u + d * p);
    }
  }
  if (!hit) return;
  // a (1 − p), likewise.
  const lacks = Math.expm1(chosen);
  out[target] = fastExp(chosen) * (c - b * (chosen + entropy) + d * (spread + lacks)) - a * lacks;
}
