import type { AdvantageEstimator } from "verl";
import { lessTokenBaseline, optimalTokenBaseline } from "./optimal-token-baseline.ts";

/**
 * The optimal token baseline for tool-integrated reasoning: answers of a group are compared at the n-th token that the model wrote,
 * however long the tools' answers in between were.
 */
export const tirOptimalTokenBaseline: AdvantageEstimator = {
  ...optimalTokenBaseline,
  description: "Reward to go minus the variance-minimising baseline of each step of the model in the group.",
  optionsSchema: {
    type: "object",
    additionalProperties: false,
    properties: {
      handle_zero_tail: {
        type: "boolean",
        default: true,
        description: "No baseline where the longest answer of a group is beyond the second longest.",
      },
    },
  },
  compute: (input, config, ctx) => lessTokenBaseline(input, config, ctx, { compact: true }),
};
