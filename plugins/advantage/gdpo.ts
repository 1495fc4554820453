import type { NdArray } from "verl";
import {
  comparedMeans,
  GROUP_METRICS,
  groupRows,
  groupStatistics,
  outcomeAdvantages,
  outcomes,
  reportGroups,
  VerlError,
  whitenByTokens,
  type AdvantageConfig,
  type AdvantageEstimator,
  type AdvantageInput,
  type OptionFault,
} from "verl";

/** Keeps a tiny deviation from making a huge advantage. */
const EPSILON = 1e-6;

/**
 * Group reward-decoupled normalization: each part of the reward is compared in its group by itself, so that a part with large numbers
 * does not drown the others.
 *
 *     A_i = Σ_k w_k (s_{k,i} − mean_{k,g}) / (std_{k,g} + 1e-6)
 *
 * The parts are columns of the batch: what a score function returns beside `score`. With `whiten` the sum is whitened over the tokens of
 * the batch, the paper's last step, which keeps the scale when parts are added. A group of one keeps its raw parts.
 */
export const gdpo: AdvantageEstimator = {
  description: "GRPO for each part of the reward by itself, summed with weights.",
  paper: "GDPO, arXiv 2601.05242",
  needsGroups: true,
  fieldsOf: ({ reward_keys }) => reward_keys as string[],
  metrics: {
    ...GROUP_METRICS,
    "advantage/missing_parts": "Share of scored rows that lack a part of the reward; they take no part and get 0.",
  },
  optionsSchema: {
    type: "object",
    additionalProperties: false,
    required: ["reward_keys"],
    properties: {
      reward_keys: {
        type: "array",
        items: { type: "string" },
        minItems: 1,
        uniqueItems: true,
        description: "Columns of the reward's parts.",
      },
      reward_weights: {
        type: ["array", "null"],
        items: { type: "number" },
        default: null,
        description: "Weight of each part, in the order of `reward_keys`; null: all 1.",
      },
      whiten: {
        type: "boolean",
        default: false,
        description: "Whiten the sum over the tokens of the batch.",
      },
    },
  },
  checkOptions: unevenWeights,
  departures: ["Whitening over the batch is an option and off by default; the paper always does it."],
  compute(input, config, ctx) {
    const { keys, weights } = partsOf(config);
    const outcome = outcomes(input);
    const { lengths, counted } = outcome;
    const parts = keys.map((key) => numbersOf(input, key));
    const whole = counted.map((flag, row) => (flag && parts.every((part) => Number.isFinite(part[row])) ? 1 : 0));
    const rows = (flags: Uint8Array): number => flags.reduce((sum, flag) => sum + flag, 0);
    ctx.metric("advantage/missing_parts", 1 - rows(whole) / Math.max(rows(counted), 1));

    const groups = groupRows(input.uid, whole);
    const total = new Float64Array(counted.length);
    const advantages = new Float64Array(counted.length);
    parts.forEach((scores, part) => {
      const statistics = groupStatistics(scores, groups);
      const means = comparedMeans({ groups, statistics });
      groups.of.forEach((group, row) => {
        if (group < 0) return;
        const spread = groups.sizes[group] === 1 ? 1 : statistics.std[group]!;
        const scale = config.norm_adv_by_std_in_grpo ? 1 / (spread + EPSILON) : 1;
        advantages[row]! += weights[part]! * (scores[row]! - means[group]!) * scale;
        total[row]! += weights[part]! * scores[row]!;
      });
    });
    reportGroups(groups, groupStatistics(total, groups), ctx);
    const { whiten } = config.adv_kwargs;
    const values = whiten ? whitenByTokens(advantages, lengths, whole) : advantages;
    const skipped = counted.map((flag, row) => flag - whole[row]!);
    return { ...outcomeAdvantages(values, input, outcome), skipped };
  },
};

type Options = AdvantageConfig["adv_kwargs"];

/** Whether the parts have columns, the batch alone tells: what a score function returns beside `score` is known once it has scored. */
function unevenWeights({ reward_keys, reward_weights }: Options): OptionFault | undefined {
  const [keys, weights] = [reward_keys as string[], reward_weights as number[] | null];
  if (weights === null || weights.length === keys.length) return undefined;
  const message = `reward_weights has ${weights.length} numbers for ${keys.length} reward_keys (${keys.join(", ")}); give one weight a key, in the same order.`;
  return { option: "reward_weights", message };
}

function partsOf({ adv_kwargs }: AdvantageConfig): { keys: string[]; weights: number[] } {
  const fault = unevenWeights(adv_kwargs);
  if (fault) {
    throw new VerlError("VERL_ALGORITHM_CONFIG", fault.message, {
      location: { path: `algorithm.adv_kwargs.${fault.option}` },
    });
  }
  const keys = adv_kwargs["reward_keys"] as string[];
  return { keys, weights: (adv_kwargs["reward_weights"] as number[] | null) ?? keys.map(() => 1) };
}

/** A column as numbers; NaN where a row has none. @throws VERL_ALGORITHM_CONFIG for a column of something else. */
function numbersOf(input: AdvantageInput, key: string): Float64Array {
  const field = input[key] as NdArray | readonly unknown[];
  const values: ArrayLike<unknown> = Array.isArray(field) ? field : (field as NdArray).data;
  return Float64Array.from(values, (value, row) => {
    if (typeof value === "number" || typeof value === "boolean") return Number(value);
    if (value === null || value === undefined) return NaN;
    throw new VerlError(
      "VERL_ALGORITHM_CONFIG",
      `The column "${key}" holds no numbers: row ${row} has a ${typeof value}.`,
      {
        location: { path: "algorithm.adv_kwargs.reward_keys" },
        hint: "Name columns of the reward's parts: what a score function returns beside `score`.",
      },
    );
  });
}
