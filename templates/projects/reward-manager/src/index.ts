import { definePlugin, provide } from "verl";
import { PricedRewardManager } from "./reward-manager.js";

export default definePlugin({
  name: "__name__",
  version: "__version__",
  verl: "__api__",
  provides: [
    provide("reward_manager", "__key__", {
      description: "The score function's result less a price for each token of the answer.",
      requires: ["responses", "attention_mask", "data_source"],
      readsGroundTruth: true,
      optionsSchema: {
        type: "object",
        additionalProperties: false,
        properties: {
          price: { type: "number", minimum: 0, default: 0.01, description: "What a token of the answer costs." },
        },
      },
      create: PricedRewardManager,
    }),
  ],
});
