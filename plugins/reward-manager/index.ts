import { provide } from "verl";
import { BatchRewardManager } from "./batch.ts";
import { DapoRewardManager } from "./dapo.ts";
import { ModelRewardManager } from "./model.ts";
import { MultiRewardManager } from "./multi.ts";
import { NaiveRewardManager } from "./naive.ts";
import { MAYBE_POOLED_OPTIONS, POOL_OPTIONS } from "./pool-options.ts";
import { PrimeRewardManager } from "./prime.ts";
import { RateLimitedRewardManager } from "./rate-limited.ts";
import { RemoteRewardManager } from "./remote.ts";
import { endpointOptions, limitOptions, SERVICE_METRICS } from "./service-options.ts";

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
  provide("reward_manager", "batch", {
    description: "Scores the whole batch by one call of the function of `custom_reward_function.path`.",
    requires,
    optionsSchema: { type: "object", additionalProperties: false, properties: MAYBE_POOLED_OPTIONS },
    metrics: TIME_METRICS,
    departures: [
      "The call has `reward_model.timeout_s`; when it fails, its answers are unscored. In verl it has no limit and ends the run.",
    ],
    create: BatchRewardManager,
  }),
  provide("reward_manager", "dapo", {
    description: "Naive scoring with DAPO's soft punishment of answers that come near the length limit.",
    paper: 'Yu et al., "DAPO: An Open-Source LLM Reinforcement Learning System at Scale" (2025), equation 13',
    requires,
    readsGroundTruth: true,
    readsLengths: true,
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
  provide("reward_manager", "model", {
    description:
      "Scores answers by a served model: a reward model of vLLM or SGLang, or a judge with a rubric behind an OpenAI-compatible endpoint.",
    requires: [...requires, "raw_prompt"],
    optionsSchema: {
      type: "object",
      additionalProperties: false,
      required: ["url", "model"],
      properties: {
        kind: {
          type: "string",
          enum: ["vllm_classify", "sglang_embedding", "judge"],
          default: "vllm_classify",
          description:
            "A reward model by vLLM's `classify` (the last of `probs`) or SGLang's `v1/embeddings` (the last of `embedding`), or a judge by `v1/chat/completions`.",
        },
        ...endpointOptions("The server's address, such as `http://127.0.0.1:8000`."),
        model: { type: "string", description: "The model's name at the server." },
        tokenizer: {
          type: ["string", "null"],
          default: null,
          description: "Folder of the reward model's tokenizer, whose chat template writes prompt and answer.",
        },
        rubric: {
          type: "string",
          default: "Grade how well the answer does the task.",
          description: "What a judge looks at.",
        },
        scale: {
          type: "array",
          items: { type: "number" },
          minItems: 2,
          maxItems: 2,
          default: [0, 10],
          description: "A judge's lowest and highest score, which become 0 and 1.",
        },
        temperature: { type: "number", minimum: 0, default: 0, description: "A judge's." },
        max_tokens: { type: "integer", minimum: 1, default: 1024, description: "Tokens of a judge's answer at most." },
        structured: {
          type: "boolean",
          default: false,
          description: "Hold a judge to JSON by `response_format`; leave it off for one that reasons before.",
        },
        ...limitOptions(64),
      },
    },
    metrics: { ...TIME_METRICS, ...SERVICE_METRICS },
    departures: [
      "The server is one that runs already; verl starts vLLM or SGLang on GPUs of the run (`reward_model.enable`).",
      "A request is tried `attempts` times and has a time limit, and its failure leaves one answer unscored; verl tries 16 times without limit, and then ends.",
      "The judge is built in; verl's needs a score function of one's own.",
    ],
    create: ModelRewardManager,
  }),
  provide("reward_manager", "multi", {
    description: "The weighted sum of several score functions, each one's score a part of the reward under its name.",
    requires,
    optionsSchema: {
      type: "object",
      additionalProperties: false,
      required: ["functions"],
      properties: {
        functions: {
          type: "object",
          minProperties: 1,
          propertyNames: { pattern: "^[A-Za-z0-9][A-Za-z0-9_.-]*$" },
          description:
            "By name: `weight` (1), and `path`, `name`, `reward_kwargs` as in `custom_reward_function`; with `optional: true` an answer that this function does not score keeps the sum of the others, else it is unscored.",
          additionalProperties: {
            type: "object",
            additionalProperties: false,
            properties: {
              weight: { type: "number", default: 1, description: "What the score counts." },
              path: {
                type: ["string", "null"],
                default: null,
                description: "A .ts or .js file; null: a registered function.",
              },
              name: { type: "string", default: "compute_score", description: "The file's export, or a key." },
              reward_kwargs: { type: "object", default: {}, description: "Further named arguments, or options." },
              optional: { type: "boolean", default: false, description: "The score may be missing." },
            },
          },
        },
        max_concurrent,
        ...MAYBE_POOLED_OPTIONS,
      },
    },
    metrics: {
      ...TIME_METRICS,
      "reward/missing/<function>/count": "Answers that the function has not scored.",
    },
    create: MultiRewardManager,
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
  provide("reward_manager", "rate_limited", {
    description:
      "Naive scoring for functions that ask a service with limits: requests and tokens a minute, calls at once, further attempts.",
    requires,
    readsGroundTruth: true,
    optionsSchema: {
      type: "object",
      additionalProperties: false,
      properties: {
        ...limitOptions(1),
        timeout: {
          type: "number",
          exclusiveMinimum: 0,
          maximum: 2_000_000,
          default: 300,
          description: "Seconds that one call may take; waiting for the limits does not count.",
        },
      },
    },
    metrics: { ...TIME_METRICS, ...SERVICE_METRICS },
    departures: [
      "A time-out or an error leaves the answer unscored; verl scores 0.",
      "A call whose error carries a passing HTTP status, or is a broken connection, is tried again, after `Retry-After` where it has one; verl tries once.",
      "The limits are the run's and stand in `reward_model.reward_kwargs`; verl's stand in `reward_model` and are the process's.",
    ],
    create: RateLimitedRewardManager,
  }),
  provide("reward_manager", "remote", {
    description: "Scores answers by a service over HTTP, many in a request.",
    requires,
    optionsSchema: {
      type: "object",
      additionalProperties: false,
      required: ["url"],
      properties: {
        ...endpointOptions(
          "The service's address. It gets `{samples: [{id, data_source, solution_str, ground_truth, extra_info}]}` and answers `{results: […]}`, in order: a number, an object with `score`, or `{unscored: why}`.",
        ),
        batch_size: { type: "integer", minimum: 1, default: 32, description: "Samples of a request at most." },
        max_request_mb: {
          type: "number",
          exclusiveMinimum: 0,
          default: 8,
          description: "MiB of a request's samples at most; a sample that alone has more is unscored.",
        },
        ...limitOptions(8),
      },
    },
    metrics: { ...TIME_METRICS, ...SERVICE_METRICS },
    departures: ["It is an HTTP service of one's own; verl's is a pool of Ray actors, which `prime` stands for here."],
    create: RemoteRewardManager,
  }),
];
