import { fastExp, type FusedKl } from "verl";
import type { HostArray, HostKernel } from "./host-kernel.ts";

type Inputs = Readonly<Record<"logProbs" | "refLogProbs", HostArray>>;
/** Loops over tokens: each kind has its own, because V8 makes code without calls of nothing less. */
type Value = (out: Float32Array, ours: Float32Array, theirs: Float32Array) => void;
type Slope = (out: Float32Array, ours: Float32Array, theirs: Float32Array, dOutput: Float32Array) => void;

const { abs, fround, sign } = Math;

/** Bounds of `k3`: of the log-ratio, and of the penalty. Differences are rounded to float32, as they are where it is composed. */
const [MAX_LOG_RATIO, MAX_PENALTY] = [20, 10];

const VALUES: Readonly<Record<FusedKl, Value>> = {
  k1(out, ours, theirs) {
    for (let i = 0; i < out.length; i++) out[i] = ours[i]! - theirs[i]!;
  },
  abs(out, ours, theirs) {
    for (let i = 0; i < out.length; i++) out[i] = abs(ours[i]! - theirs[i]!);
  },
  k2(out, ours, theirs) {
    for (let i = 0; i < out.length; i++) out[i] = 0.5 * (ours[i]! - theirs[i]!) ** 2;
  },
  k3(out, ours, theirs) {
    for (let i = 0; i < out.length; i++) {
      const delta = fround(theirs[i]! - ours[i]!);
      const x = delta < -MAX_LOG_RATIO ? -MAX_LOG_RATIO : delta > MAX_LOG_RATIO ? MAX_LOG_RATIO : delta;
      const penalty = expLess1(x) - x;
      out[i] = penalty > MAX_PENALTY ? MAX_PENALTY : penalty;
    }
  },
};

/** Slopes in log π_θ. Where nothing depends on a token it is 0, whatever stands there. */
const SLOPES: Readonly<Record<FusedKl, Slope>> = {
  k1(out, ours, theirs, dOutput) {
    for (let i = 0; i < out.length; i++) out[i] = dOutput[i]!;
  },
  abs(out, ours, theirs, dOutput) {
    for (let i = 0; i < out.length; i++) out[i] = dOutput[i] === 0 ? 0 : sign(ours[i]! - theirs[i]!) * dOutput[i]!;
  },
  k2(out, ours, theirs, dOutput) {
    for (let i = 0; i < out.length; i++) out[i] = dOutput[i] === 0 ? 0 : (ours[i]! - theirs[i]!) * dOutput[i]!;
  },
  k3(out, ours, theirs, dOutput) {
    for (let i = 0; i < out.length; i++) {
      const x = fround(theirs[i]! - ours[i]!);
      const rise = expLess1(x);
      const flat = dOutput[i] === 0 || abs(x) > MAX_LOG_RATIO || rise - x > MAX_PENALTY;
      out[i] = flat ? 0 : -rise * dOutput[i]!;
    }
  },
};

/** e^x − 1, by its series where 1 would take the digits. */
function expLess1(x: number): number {
  return abs(x) < 1e-2 ? x * (1 + (x / 2) * (1 + (x / 3) * (1 + (x / 4) * (1 + x / 5)))) : fastExp(x) - 1;
}

export const klPenalty: HostKernel<Inputs, { kind: FusedKl }> = ({ logProbs, refLogProbs }, { kind }, room) => {
  const values = room(logProbs.values.length);
  VALUES[kind](values, logProbs.values, refLogProbs.values);
  return [{ values, shape: logProbs.shape }];
};

export const klPenaltyGradient: HostKernel<Inputs & { readonly dOutput: HostArray }, { kind: FusedKl }> = (
  { logProbs, refLogProbs, dOutput },
  { kind },
  room,
) => {
  const values = room(logProbs.values.length);
  SLOPES[kind](values, logProbs.values, refLogProbs.values, dOutput.values);
  return [{ values, shape: logProbs.shape }];
};
