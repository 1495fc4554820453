import { fastExp, type FusedLoss } from "verl";

/** A batch, flat. */
export interface LossFields {
  /** log π_θ. */
  readonly x: Float32Array;
  /** log π_old. */
  readonly old: Float32Array;
  readonly adv: Float32Array;
  /** 1 for tokens that the loss treats in its own way. */
  readonly marks: Float32Array;
  /** Importance weights, where there are any; they are in `shares` already. */
  readonly weights: Float32Array | undefined;
  /** What each element of the row at hand counts in the loss. */
  readonly shares: Float64Array;
  /** d loss / d x, all 0 at first. */
  readonly slopes: Float32Array;
}

/** Numbers of the config, as float32: the composed losses compare float32 numbers. */
export interface LossNumbers {
  /** How far a log-ratio may go below and above 0, where the range is one of log-ratios. */
  readonly low: number;
  readonly high: number;
  /** 1 − ε_low and 1 + ε_high, where it is one of ratios. */
  readonly floor: number;
  readonly ceiling: number;
  /** Numbers of the loss's own; see `PolicyLossAttrs`. */
  readonly first: number;
  readonly second: number;
}

/** What loops add to, in float64. */
export interface LossSums {
  /** First element of the row at hand. */
  origin: number;
  /** Its tokens. */
  length: number;
  /** What one of its tokens, or of the rows, counts in the loss, without importance weights. */
  share: number;
  /** Sums over the row at hand, or what `conclude` makes of them. */
  a: number;
  b: number;
  c: number;
  /** Sums over the batch: the loss, and metrics, which are divided by the tokens later. */
  loss: number;
  first: number;
  second: number;
  kl: number;
}

/** A loop over the elements from `start` on, before `end`, which are unmasked tokens of one row. */
export type Run = (fields: LossFields, start: number, end: number, sums: LossSums, numbers: LossNumbers) => void;

/**
 * A loss as a loop over tokens, which adds to the sums and writes slopes. Losses of whole rows have a loop `ahead` of it, for sums over the
 * row, of which `conclude` makes what the second loop reads.
 *
 * Slopes are those of tfjs' operations in `plugins/policy-loss`, also at the points where a loss has a kink: for that, log-ratios and ratios
 * are rounded to float32. Each loss has its own loop, because V8 makes code without calls of nothing less.
 */
export interface LossFormula {
  readonly run: Run;
  readonly ahead?: Run;
  readonly conclude?: (sums: LossSums) => void;
  /** The loss is a mean over rows, which `conclude` adds up: tokens have only a slope. */
  readonly ofRows?: true;
}

const { abs, exp, fround, log, min, sign } = Math;

/** Keeps the logarithm of a weight of 0 finite. */
const WEIGHT_EPSILON = 1e-10;

const clamp = (x: number, low: number, high: number): number => (x < low ? low : x > high ? high : x);

export const FORMULAS: Readonly<Record<FusedLoss, LossFormula>> = {
  vanilla: {
    run({ x, old, adv, shares, slopes }, start, end, sums, { floor, ceiling, first: most }) {
      const { origin } = sums;
      let [loss, clips, bounds, kl] = [0, 0, 0, 0];
      for (let i = start; i < end; i++) {
        const delta = fround(x[i]! - old[i]!);
        const logRatio = clamp(delta, -20, 20);
        const ratio = fround(fastExp(logRatio));
        const gain = -adv[i]!;
        const clipped = gain * clamp(ratio, floor, ceiling);
        let value = gain * ratio;
        let slope = abs(delta) > 20 ? 0 : value;
        if (clipped > value) {
          clips++;
          value = clipped;
          slope = 0;
        }
        if (gain > 0 && value > gain * most) {
          bounds++;
          value = gain * most;
          slope = 0;
        }
        const share = shares[i - origin]!;
        loss += value * share;
        slopes[i] = slope * share;
        kl -= logRatio;
      }
      sums.loss += loss;
      sums.first += clips;
      sums.second += bounds;
      sums.kl += kl;
    },
  },

  cispo: {
    run({ x, old, adv, shares, slopes }, start, end, sums, { floor, ceiling }) {
      const { origin } = sums;
      let [loss, clips, kl] = [0, 0, 0];
      for (let i = start; i < end; i++) {
        const logRatio = clamp(fround(x[i]! - old[i]!), -20, 20);
        const ratio = fround(fastExp(logRatio));
        const clipped = clamp(ratio, floor, ceiling);
        if (clipped !== ratio) clips++;
        const slope = -clipped * adv[i]! * shares[i - origin]!;
        loss += slope * x[i]!;
        slopes[i] = slope;
        kl -= logRatio;
      }
      sums.loss += loss;
      sums.first += clips;
      sums.kl += kl;
    },
  },

  gpg: {
    run({ x, adv, weights, shares, slopes }, start, end, sums) {
      const { origin, share } = sums;
      let loss = 0;
      if (weights) {
        for (let i = start; i < end; i++) {
          const slope = -adv[i]! * shares[i - origin]!;
          loss += slope * x[i]!;
          slopes[i] = slope;
        }
        sums.loss += loss;
      } else {
        // There is so little to compute that a look at the token's share would cost a quarter more.
        for (let i = start; i < end; i++) {
          loss += adv[i]! * x[i]!;
          slopes[i] = -adv[i]! * share;
        }
        sums.loss -= loss * share;
      }
    },
  },

  reinforce: {
    run({ x, old, adv, shares, slopes }, start, end, sums) {
      const { origin } = sums;
      let [loss, kl] = [0, 0];
      for (let i = start; i < end; i++) {
        const slope = -adv[i]! * shares[i - origin]!;
        loss += slope * x[i]!;
        slopes[i] = slope;
        kl += old[i]! - x[i]!;
      }
      sums.loss += loss;
      sums.kl += kl;
    },
  },

  sapo: {
    run({ x, old, adv, shares, slopes }, start, end, sums, { first: tauOfGood, second: tauOfBad }) {
      const { origin } = sums;
      let [loss, kl] = [0, 0];
      for (let i = start; i < end; i++) {
        const delta = fround(x[i]! - old[i]!);
        const logRatio = clamp(delta, -20, 20);
        const ratio = fastExp(logRatio);
        const tau = adv[i]! > 0 ? tauOfGood : tauOfBad;
        const gate = 1 / (1 + fastExp(-tau * (ratio - 1)));
        const gain = -4 * adv[i]! * gate * shares[i - origin]!;
        loss += gain / tau;
        slopes[i] = abs(delta) > 20 ? 0 : gain * (1 - gate) * ratio;
        kl -= logRatio;
      }
      sums.loss += loss;
      sums.kl += kl;
    },
  },

  clip_cov: {
    run({ x, old, adv, marks, shares, slopes }, start, end, sums, { floor, ceiling }) {
      const { origin } = sums;
      let [loss, cuts, kl] = [0, 0, 0];
      for (let i = start; i < end; i++) {
        const delta = fround(x[i]! - old[i]!);
        const logRatio = clamp(delta, -70, 70);
        const ratio = fround(fastExp(logRatio));
        if (marks[i]! > 0) cuts++;
        const gain = adv[i]! * (marks[i]! - 1);
        const clipped = gain * clamp(ratio, floor, ceiling);
        let value = gain * ratio;
        let slope = abs(delta) > 70 ? 0 : value;
        if (clipped > value) {
          value = clipped;
          slope = 0;
        }
        const share = shares[i - origin]!;
        loss += value * share;
        slopes[i] = slope * share;
        kl -= logRatio;
      }
      sums.loss += loss;
      sums.first += cuts;
      sums.kl += kl;
    },
  },

  kl_cov: {
    run({ x, old, adv, marks, shares, slopes }, start, end, sums, { first: coef }) {
      const { origin } = sums;
      let [loss, distances] = [0, 0];
      for (let i = start; i < end; i++) {
        const delta = fround(x[i]! - old[i]!);
        const logRatio = clamp(delta, -70, 70);
        const gain = adv[i]! * fastExp(logRatio);
        const price = marks[i]! * coef;
        const distance = abs(logRatio);
        const share = shares[i - origin]!;
        loss += (distance * price - gain) * share;
        // Few tokens have a price: nothing is asked of the others' signs, which no processor can guess.
        const pull = price === 0 ? 0 : sign(logRatio) * price;
        slopes[i] = abs(delta) > 70 ? 0 : (pull - gain) * share;
        distances += distance;
      }
      sums.loss += loss;
      sums.kl += distances;
    },
  },

  gspo: {
    ahead({ x, old }, start, end, sums) {
      let kl = 0;
      for (let i = start; i < end; i++) kl += old[i]! - x[i]!;
      sums.a += kl;
      sums.kl += kl;
    },
    /** Of the row's Σ (log π_old − log π_θ) its ratio, and whether that has a slope. */
    conclude(sums) {
      const mean = fround(-sums.a / sums.length);
      sums.a = fround(exp(min(mean, 10)));
      sums.b = mean >= 10 ? 0 : 1;
    },
    run({ adv, shares, slopes }, start, end, sums, { floor, ceiling }) {
      const { origin } = sums;
      const { a: ratio, b: moves } = sums;
      const clippedRatio = clamp(ratio, floor, ceiling);
      let [loss, clips] = [0, 0];
      for (let i = start; i < end; i++) {
        const gain = -adv[i]!;
        const clipped = gain * clippedRatio;
        let value = gain * ratio;
        let slope = value * moves;
        if (clipped > value) {
          clips++;
          value = clipped;
          slope = 0;
        }
        const share = shares[i - origin]!;
        loss += value * share;
        slopes[i] = slope * share;
      }
      sums.loss += loss;
      sums.first += clips;
    },
  },

  geo_mean: {
    ofRows: true,
    ahead({ x, old, adv, weights }, start, end, sums, { low, high }) {
      let [gains, kept, logWeights, goodOutside, badOutside, kl] = [0, 0, 0, 0, 0, 0];
      for (let i = start; i < end; i++) {
        const logRatio = clamp(fround(x[i]! - old[i]!), -70, 70);
        const advantage = adv[i]!;
        gains += advantage;
        kl -= logRatio;
        if (advantage > 0) kept += logRatio > high ? high : logRatio;
        if (advantage < 0) kept += logRatio < -low ? -low : logRatio;
        if (logRatio > high || logRatio < -low) {
          if (advantage > 0) goodOutside++;
          if (advantage < 0) badOutside++;
        }
        if (weights) logWeights += log(weights[i]! + WEIGHT_EPSILON);
      }
      sums.a += gains;
      sums.b += kept;
      sums.c += logWeights;
      sums.first += goodOutside;
      sums.second += badOutside;
      sums.kl += kl;
    },
    /** Of the row's Σ A, Σ Δ' and Σ log w its loss, and the slope of its tokens. */
    conclude(sums) {
      const loss = -(sums.a / sums.length) * exp((sums.b + sums.c) / sums.length) * sums.share;
      sums.loss += loss;
      sums.a = loss / sums.length;
    },
    run({ x, old, adv, slopes }, start, end, { a: slope }, { low, high }) {
      for (let i = start; i < end; i++) {
        const delta = fround(x[i]! - old[i]!);
        const moves = adv[i]! > 0 ? delta <= high && delta >= -70 : adv[i]! < 0 && delta >= -low && delta <= 70;
        if (moves) slopes[i] = slope;
      }
    },
  },
};
