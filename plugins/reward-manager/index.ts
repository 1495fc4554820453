import { provide } from "verl";
import { NaiveRewardManager } from "./naive.ts";

export const rewardManagers = [
  provide("reward_manager", "naive", {
    description: "Scores each answer by itself with the run's score function.",
    requires: ["responses", "attention_mask", "data_source"],
    optionsSchema: {
      type: "object",
      additionalProperties: false,
      properties: {
        max_concurrent: {
          type: "integer",
          minimum: 1,
          default: 64,
          description: "Calls of an asynchronous score function that are under way at once.",
        },
      },
    },
    departures: [
      "A score function that throws, or returns NaN or text, leaves the sample unscored with the reason; verl ends or scores 0.",
      "Parts of a dict result become columns by name, null where a row lacks one; verl needs the same keys in all rows.",
      "`extra_info` is copied before `num_turns` and `stop_reason` are added; verl writes to the dataset's row.",
    ],
    create: NaiveRewardManager,
  }),
];
