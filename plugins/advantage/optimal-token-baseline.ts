import {
  fastExp,
  GROUP_METRICS,
  groupedOutcomes,
  rewardToGo,
  tokenField,
  type AdvantageConfig,
  type AdvantageContext,
  type AdvantageEstimator,
  type AdvantageInput,
  type AdvantageOutput,
  type NdArray,
} from "verl";

const EPSILON = 1e-8;

/**
 * A baseline for each token position, which minimises the variance of the gradient: answers whose gradient has been large so far weigh
 * more in it.
 *
 *     w_t = 1 − 2 π(a_t) + Σ_a π(a)²        W_t = Σ_{t' ≤ t} w_t'   (times ρ² with importance weights)
 *     B_t = Σ_i G_{i,t} W_{i,t} / (Σ_i W_{i,t} + 1e-8) over the group        A_t = G_t − B_t
 *
 * w is the squared norm of d log π / d logits. Positions are columns. A group of one has no baseline.
 */
export const optimalTokenBaseline: AdvantageEstimator = {
  description: "Reward to go minus the variance-minimising baseline of each column in the group.",
  paper: "Optimal token baseline, arXiv 2602.07078",
  requires: ["old_log_probs", "sum_pi_squared"],
  needsGroups: true,
  metrics: GROUP_METRICS,
  optionsSchema: {
    type: "object",
    additionalProperties: false,
    properties: {
      handle_zero_tail: {
        type: "boolean",
        default: false,
        description: "No baseline where the longest answer of a group is beyond the second longest.",
      },
    },
  },
  departures: ["Runs from the config; verl's trainer calls it without the fields that it needs, and fails."],
  compute: (input, config, ctx) => lessTokenBaseline(input, config, ctx, { compact: false }),
};

/** @param compact steps are numbered by the model's own tokens, observations left out; otherwise they are columns. */
export function lessTokenBaseline(
  input: AdvantageInput,
  { adv_kwargs }: AdvantageConfig,
  ctx: AdvantageContext,
  { compact }: { compact: boolean },
): AdvantageOutput {
  const { groups, lengths, counted, runs } = groupedOutcomes(input, ctx);
  const { starts, ends, ofRow } = runs;
  const returns = rewardToGo(input, 1, runs);
  const advantages = tokenField(
    returns.shape,
    runs,
    counted.map((scored) => 1 - scored),
  );
  const [gains, target] = [returns.data, advantages.data];
  const width = returns.rowSize;
  const norms = gradientNorms(input);
  const above = new Float64Array(width);
  const below = new Float64Array(width);
  const baseline = new Float64Array(width);

  const accumulate = (row: number): void => {
    let norm = 0;
    for (let run = ofRow[row]!, step = 0; run < ofRow[row + 1]!; run++) {
      const [start, end] = [starts[run]!, ends[run]!];
      if (!compact) step = start - row * width;
      const ofRun = norms(start, end);
      for (let at = start; at < end; at++, step++) {
        norm += ofRun[at - start]!;
        above[step]! += gains[at]! * norm;
        below[step]! += norm;
      }
    }
  };
  /** @param last step from which on there is no baseline. */
  const subtract = (row: number, last: number): void => {
    for (let run = ofRow[row]!, step = 0; run < ofRow[row + 1]!; run++) {
      const [start, end] = [starts[run]!, ends[run]!];
      if (!compact) step = start - row * width;
      const withBaseline = Math.min(end, start + Math.max(last - step, 0));
      for (let at = start; at < withBaseline; at++, step++) target[at] = gains[at]! - baseline[step]!;
      target.set(gains.subarray(withBaseline, end), withBaseline);
      step += end - withBaseline;
    }
  };
  for (const rows of rowsOfGroups(groups.of, groups.sizes)) {
    above.fill(0);
    below.fill(0);
    if (rows.length > 1) rows.forEach(accumulate);
    for (let step = 0; step < width; step++) baseline[step] = above[step]! / (below[step]! + EPSILON);
    const tail = adv_kwargs["handle_zero_tail"] ? zeroTail(rows, lengths) : undefined;
    for (const row of rows) subtract(row, tail?.row === row ? tail.from : width);
  }
  return { advantages, returns };
}

/** w of the elements from `start` on, before `end`: the squared norms of the gradients with respect to their logits. */
function gradientNorms(input: AdvantageInput): (start: number, end: number) => Float64Array {
  const field = (name: string): Float32Array => (input[name] as NdArray<"float32">).data;
  const [logProbs, squares] = [field("old_log_probs"), field("sum_pi_squared")];
  const importance = input.rollout_is_weights?.data;
  const norms = new Float64Array(input.response_mask.rowSize);
  return (start, end) => {
    for (let at = start; at < end; at++) norms[at - start] = 1 - 2 * fastExp(logProbs[at]!) + squares[at]!;
    if (importance) for (let at = start; at < end; at++) norms[at - start]! *= importance[at]! ** 2;
    return norms;
  };
}

/** Row numbers of each group. */
function rowsOfGroups(of: Int32Array, sizes: Int32Array): Int32Array[] {
  const members = Array.from(sizes, (size) => new Int32Array(size));
  const filled = new Int32Array(sizes.length);
  of.forEach((group, row) => {
    if (group >= 0) members[group]![filled[group]!++] = row;
  });
  return members;
}

/** The one longest row and the length of the second longest; undefined where several are longest. */
function zeroTail(rows: Int32Array, lengths: Int32Array): { row: number; from: number } | undefined {
  if (rows.length < 2) return undefined;
  const [first, second] = [...rows].sort((a, b) => lengths[b]! - lengths[a]!);
  return lengths[first!] === lengths[second!] ? undefined : { row: first!, from: lengths[second!]! };
}
