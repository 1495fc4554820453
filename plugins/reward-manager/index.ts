import { provide } from "verl";
import { DapoRewardManager } from "./dapo.ts";
import { NaiveRewardManager } from "./naive.ts";

const requires = ["responses", "attention_mask", "data_source"];

const max_concurrent = {
  type: "integer",
  minimum: 1,
  default: 64,
  description: "Calls of an asynchronous score function that are under way at once.",
} as const;

export const rewardManagers = [
  provide("reward_manager", "dapo", {
    description: "Naive scoring with DAPO's soft punishment of answers that come near the length limit.",
    paper: 'Yu et al., "DAPO: An Open-Source LLM Reinforcement Learning System at Scale" (2025), equation 13',
    requires,
    readsGroundTruth: true,
    optionsSchema: {
      type: "object",
      additionalProperties: false,
      properties: {
        max_concurrent,
        max_resp_len: {
          type: ["integer", "null"],
          minimum: 1,
          default: null,
          description: "Tokens of an answer at most; null: actor_rollout_ref.rollout.response_length.",
        },
        overlong_buffer_cfg: {
          type: "object",
          additionalProperties: false,
          default: {},
          description: "The punishment of long answers.",
          properties: {
            enable: { type: "boolean", default: false, description: "Turn it on." },
            len: {
              type: "integer",
              minimum: 1,
              default: 4096,
              description: "Tokens before the limit over which it grows.",
            },
            penalty_factor: { type: "number", minimum: 0, default: 1, description: "Punishment at the limit." },
            log: {
              type: "boolean",
              default: false,
              description: "Report the parts `overlong_reward` and `overlong`.",
            },
          },
        },
      },
    },
    departures: [
      "The punishment grows no further beyond `max_resp_len`, as in the paper; verl's does.",
      "`max_resp_len` has a default, and a dict result without `acc` gets it from its score; verl needs both given.",
    ],
    create: DapoRewardManager,
  }),
  provide("reward_manager", "naive", {
    description: "Scores each answer by itself with the run's score function.",
    requires,
    readsGroundTruth: true,
    optionsSchema: { type: "object", additionalProperties: false, properties: { max_concurrent } },
    departures: [
      "A score function that throws, or returns NaN or text, leaves the sample unscored with the reason; verl ends or scores 0.",
      "Parts of a dict result become columns by name, null where a row lacks one; verl needs the same keys in all rows.",
      "`extra_info` is copied before `num_turns` and `stop_reason` are added; verl writes to the dataset's row.",
    ],
    create: NaiveRewardManager,
  }),
];
