import { provide } from "verl";
import { DapoRewardManager } from "./dapo.ts";
import { NaiveRewardManager } from "./naive.ts";
import { MAYBE_POOLED_OPTIONS, POOL_OPTIONS } from "./pool-options.ts";
import { PrimeRewardManager } from "./prime.ts";

const requires = ["responses", "attention_mask", "data_source"];

const max_concurrent = {
  type: "integer",
  minimum: 1,
  default: 64,
  description: "Calls of an asynchronous score function that are under way at once.",
} as const;

const TIME_METRICS = {
  "reward/time_s/<function>/p50": "Seconds that half of the calls of the score function took at most.",
  "reward/time_s/<function>/p95": "The same for 95 of 100 calls.",
  "reward/time_s/<function>/max": "Seconds of the slowest call.",
};

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
        ...MAYBE_POOLED_OPTIONS,
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
    metrics: TIME_METRICS,
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
    optionsSchema: {
      type: "object",
      additionalProperties: false,
      properties: { max_concurrent, ...MAYBE_POOLED_OPTIONS },
    },
    metrics: TIME_METRICS,
    departures: [
      "A score function that throws, or returns NaN or text, leaves the sample unscored with the reason; verl ends or scores 0.",
      "Parts of a dict result become columns by name, null where a row lacks one; verl needs the same keys in all rows.",
      "`extra_info` is copied before `num_turns` and `stop_reason` are added; verl writes to the dataset's row.",
    ],
    create: NaiveRewardManager,
  }),
  provide("reward_manager", "prime", {
    description:
      "Naive scoring in `reward_model.num_workers` processes at once, each answer with a deadline that ends even an endless loop.",
    requires,
    readsGroundTruth: true,
    optionsSchema: { type: "object", additionalProperties: false, properties: POOL_OPTIONS },
    metrics: TIME_METRICS,
    departures: [
      "A time-out or a failure leaves its answer unscored with the reason, and replaces its process; verl scores 0, and 0 for the whole batch where the pool itself fails.",
      "Parts of a dict result become columns, and the answer is the response's real tokens; verl keeps the score alone, and decodes the padding too.",
    ],
    create: PrimeRewardManager,
  }),
];
