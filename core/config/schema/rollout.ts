import { logProb } from "./actor.ts";
import { choice, flag, freeMap, integer, number, orNull, section, text } from "./field.ts";

const multiTurn = section("Conversations of several turns with tools and interactions.", {
  enable: flag("Rows without an `agent_name` run the tool agent, where `agent.default_agent_loop` is null.", false, {
    "x-departure": "In verl it selects nothing.",
  }),
  max_assistant_turns: integer("Assistant turns at most; null: no limit. Calls of the last one are still run.", null, {
    minimum: 1,
    "x-departure": "verl drops the calls of the last turn.",
  }),
  max_user_turns: integer("User turns (tool results, or an interaction's message) at most; null: no limit.", null, {
    minimum: 1,
  }),
  tool_config_path: text("YAML file of tools.", null),
  interaction_config_path: text("YAML file of interactions.", null),
  max_parallel_calls: integer("Tool calls of one turn that run at once; the others wait for their turn.", 1, {
    minimum: 1,
    "x-departure": "verl runs so many and drops the others unseen.",
  }),
  max_tool_response_length: integer("Characters of a tool response that are kept.", 256, { minimum: 1 }),
  tool_response_truncate_side: choice(
    "Which part of a longer tool response is cut away: `left` keeps its end, `right` its start, `middle` both.",
    "middle",
    ["left", "middle", "right"],
    { "x-departure": "In verl the side is the one that is kept." },
  ),
  tool_timeout_s: number(
    "Seconds that one tool call may take, where the tool has no `timeout_s` of its own, or one call of an interaction.",
    60,
    {
      exclusiveMinimum: 0,
      "x-departure": "Not in verl, where a call that hangs holds the step.",
    },
  ),
  max_invalid_calls: integer(
    "Consecutive invalid calls (unreadable, of no tool, with arguments that do not fit) that end a conversation; null: no limit.",
    null,
    { minimum: 1, "x-departure": "Not in verl." },
  ),
  template_drift: choice(
    "When the chat template rewrites what the model has been shown. `append`: go on with what was shown. `fork`: go on with the rewritten history, of which nothing is trained. `fail`: the sample fails.",
    "append",
    ["append", "fork", "fail"],
    { "x-departure": "Not in verl, which appends and does not look." },
  ),
  format: text("Tool-call format, a key of the `tool_parser` registry.", "hermes"),
});

const valKwargs = section("Sampling for validation.", {
  temperature: number("0: greedy.", 0, { minimum: 0 }),
  top_k: integer("Sample from the k likeliest tokens; -1: all.", -1, { minimum: -1 }),
  top_p: number("Sample from the smallest set of tokens with this probability.", 1, {
    exclusiveMinimum: 0,
    maximum: 1,
  }),
  n: integer("Answers a validation prompt.", 1, { minimum: 1 }),
  do_sample: flag("false: greedy, whatever the temperature.", false),
});

export const rollout = section("How answers are sampled.", {
  name: text("Rollout engine, a key of the `rollout` registry.", "embedded", {
    "x-departure": "verl makes this key mandatory (`vllm`, `sglang`, …).",
  }),
  mode: choice("Agent loops run concurrently; there is no other mode.", "async", ["async"]),
  n: integer("Answers a prompt: the size of a group.", 1, { minimum: 1 }),
  temperature: number("Logits are divided by it; 0: greedy.", 1, { minimum: 0 }),
  top_k: integer("Sample from the k likeliest tokens; -1: all.", -1, { minimum: -1 }),
  top_p: number("Sample from the smallest set of tokens with this probability.", 1, {
    exclusiveMinimum: 0,
    maximum: 1,
  }),
  do_sample: flag("false: greedy, whatever the temperature.", true),
  ignore_eos: flag("Go on after the end-of-sequence token.", false),
  prompt_length: integer("Tokens of the longest prompt.", "${data.max_prompt_length}", { minimum: 1 }),
  response_length: integer("Tokens of the longest response.", "${data.max_response_length}", { minimum: 1 }),
  max_num_seqs: integer("Sequences sampled together.", 256, { minimum: 1 }),
  free_cache_engine: flag(
    "Let the rollout engine give back its caches and its weights while the actor trains, where they share their ranks.",
    true,
  ),
  nnodes: integer("Machines of the rollout's own, where `actor_rollout_ref.hybrid_engine` is false.", 0, {
    minimum: 0,
  }),
  n_gpus_per_node: integer("Ranks on each of these.", "${trainer.n_gpus_per_node}", { minimum: 1 }),
  update_weights_bucket_megabytes: integer(
    "Megabytes of weights that are sent at once to a rollout on ranks of its own.",
    2048,
    { minimum: 1 },
  ),
  ...logProb(),
  val_kwargs: valKwargs,
  multi_turn: multiTurn,
  agent: section("Agent loops.", {
    default_agent_loop: text(
      "Loop of rows without an `agent_name`, a key of the `agent_loop` registry; null: `tool_agent` where `multi_turn.enable`, else `single_turn_agent`.",
      null,
      { "x-departure": "verl: `single_turn_agent`, whatever `multi_turn.enable` is." },
    ),
    agent_loop_config_path: text(
      "YAML file of agent loops with options: a list of `name`, `_target_` (a key of the `agent_loop` registry) and the options.",
      null,
      { "x-departure": "In verl `_target_` is a Python class." },
    ),
    num_workers: orNull(
      integer(
        "Ranks of their own for the agent loops; null: they run beside the rollout engine, on each of its ranks.",
        null,
        { minimum: 1, "x-departure": "verl's default is 8, and it knows no loops beside the engine." },
      ),
    ),
    max_concurrent: integer("Agent loops under way at once.", 10000, {
      minimum: 1,
      "x-departure": "Not in verl, which bounds nothing.",
    }),
    sample_timeout_s: number("Seconds that one answer may take, all its turns together; null: no limit.", null, {
      exclusiveMinimum: 0,
      "x-departure": "Not in verl.",
    }),
    max_retries: integer(
      "Further attempts at an answer that failed, each from the start; then its group is dropped.",
      2,
      {
        minimum: 0,
        "x-departure": "Not in verl, where one failure ends the step.",
      },
    ),
  }),
  trace: section("Traces: what a few answers of each step did, generation by generation.", {
    backend: orNull(
      choice(
        "`jsonl`: lines of traces.jsonl in the run's folder; `opentelemetry`: spans for the SDK that the process has set up; null: none.",
        "jsonl",
        ["jsonl", "opentelemetry"],
        {
          "x-departure": "verl's default is null. weave and mlflow take OpenTelemetry's spans.",
          "x-aliases": { weave: "opentelemetry", mlflow: "opentelemetry" },
        },
      ),
    ),
    token2text: flag("Keep the text of prompts and answers, not their length alone.", false),
    max_samples_per_step_per_worker: orNull(
      integer(
        "Prompts of a step that are traced, all their answers; null: all. A few failed attempts at others are traced in any case.",
        1,
        {
          minimum: 0,
          "x-departure": "verl's default is null.",
        },
      ),
    ),
  }),
  engine_kwargs: freeMap("Options of the chosen rollout engine, checked by its own schema."),
});
