import type { FusedLoss } from "verl";

/**
 * A loss in WGSL, of `T`, a scalar or a vector of tokens. It reads `x` = log π_θ, `old` = log π_old, `adv` = A, `mark` and the row's `stats`,
 * all 0 behind the mask, and sets `loss`, `slope` = d loss / d x, and the metrics `first`, `second` and `kl`. Importance weights come later.
 *
 * Slopes are those of tfjs' operations in `plugins/policy-loss`, also at the points where a loss has a kink.
 */
export interface LossFormula {
  readonly body: string;
  /** Metrics that it has, in the order of the kernel's output. */
  readonly readsOld: boolean;
  readonly readsMarks: boolean;
  readonly rowSums?: RowSums;
  /** WGSL expression of the loss of a whole row, where it is no sum over tokens. */
  readonly rowLoss?: string;
}

/**
 * What a formula needs of the whole row before `body`: a pass over the row, after `prelude`, whose inputs are 0 behind the mask. `body` then
 * reads the row's `stats` and what is carried over for each token, and none of the fields.
 */
export interface RowSums {
  readonly prelude: string;
  /** Three sums at most, as WGSL expressions of `T`; they become `stats.yzw`. `stats.x` is the length. */
  readonly sums: readonly string[];
  /** Those of `first`, `second`, `kl` that do not depend on the row. */
  readonly metrics: Readonly<Partial<Record<"first" | "second" | "kl", string>>>;
  /** Expressions of `T` by the names that `body` calls them: few, for they stay in registers. */
  readonly carries: Readonly<Record<string, string>>;
}

const clippedRatio = (bound: number): string => `
  let logRatio = clamp(x - old, T(-${bound}.0), T(${bound}.0));
  let free = abs(x - old) <= T(${bound}.0);
  let ratio = exp(logRatio);`;

/** PPO's surrogate of a `gain` and a `ratio`, and its slope where the ratio has the slope `moves`. */
const surrogate = `
  let plain = gain * ratio;
  let clipped = gain * clamp(ratio, T(1.0 - params.low), T(1.0 + params.high));
  let worse = max(plain, clipped);
  let pull = select(T(0.0), plain, (plain >= clipped) & moves);`;

const policyGradient = `
  loss = -(adv * x);
  slope = -adv;`;

export const FORMULAS: Readonly<Record<FusedLoss, LossFormula>> = {
  vanilla: {
    readsOld: true,
    readsMarks: false,
    body: `${clippedRatio(20)}
  let moves = free;
  let gain = -adv;${surrogate}
  let ceiling = gain * params.first;
  let bounded = (gain > T(0.0)) & (worse > ceiling);
  loss = select(worse, ceiling, bounded);
  slope = select(pull, T(0.0), bounded);
  first = flag(clipped > plain);
  second = flag(bounded);
  kl = -logRatio;`,
  },
  cispo: {
    readsOld: true,
    readsMarks: false,
    body: `${clippedRatio(20)}
  let weight = clamp(ratio, T(1.0 - params.low), T(1.0 + params.high));
  slope = -weight * adv;
  loss = slope * x;
  first = flag(ratio != weight);
  kl = -logRatio;`,
  },
  gpg: { readsOld: false, readsMarks: false, body: policyGradient },
  reinforce: { readsOld: true, readsMarks: false, body: `${policyGradient}\n  kl = old - x;` },
  sapo: {
    readsOld: true,
    readsMarks: false,
    body: `${clippedRatio(20)}
  let tau = select(T(params.second), T(params.first), adv > T(0.0));
  let gate = T(1.0) / (T(1.0) + exp(-tau * (ratio - T(1.0))));
  loss = gate * (-4.0 * adv / tau);
  slope = select(T(0.0), -4.0 * adv * gate * (T(1.0) - gate) * ratio, free);
  kl = -logRatio;`,
  },
  clip_cov: {
    readsOld: true,
    readsMarks: true,
    body: `${clippedRatio(70)}
  let moves = free;
  let gain = adv * (mark - T(1.0));${surrogate}
  loss = worse;
  slope = pull;
  first = flag(mark > T(0.0));
  kl = -logRatio;`,
  },
  kl_cov: {
    readsOld: true,
    readsMarks: true,
    body: `${clippedRatio(70)}
  let side = sign(logRatio);
  let price = mark * params.first;
  kl = logRatio * side;
  loss = kl * price - adv * ratio;
  slope = select(T(0.0), side * price - adv * ratio, free);`,
  },
  gspo: {
    readsOld: true,
    readsMarks: false,
    rowSums: { prelude: "", sums: ["x - old"], metrics: { kl: "old - x" }, carries: { gain: "-adv" } },
    body: `
  let mean = min(stats.y / max(stats.x, 1.0), 10.0);
  let ratio = T(exp(mean));
  let moves = T(mean) < T(10.0);${surrogate}
  loss = worse;
  slope = pull;
  first = flag(clipped > plain);`,
  },
  geo_mean: {
    readsOld: true,
    readsMarks: false,
    rowSums: {
      prelude: `
  let logRatio = clamp(x - old, T(-70.0), T(70.0));
  let free = abs(x - old) <= T(70.0);
  let good = adv > T(0.0);
  let bad = adv < T(0.0);
  let below = logRatio <= T(params.high);
  let above = logRatio >= T(-params.low);
  let bounded = select(select(T(0.0), max(logRatio, T(-params.low)), bad), min(logRatio, T(params.high)), good);`,
      sums: ["adv", "bounded", "logWeight"],
      metrics: {
        first: "select(T(0.0), flag(good), !below | !above)",
        second: "select(T(0.0), flag(bad), !below | !above)",
        kl: "-logRatio",
      },
      carries: { moves: "flag(free & ((good & below) | (bad & above)))" },
    },
    rowLoss: "-(stats.y / max(stats.x, 1.0)) * exp((stats.z + stats.w) / max(stats.x, 1.0))",
    body: `
  slope = moves * (rowLoss / max(stats.x, 1.0));`,
  },
};
