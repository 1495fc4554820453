import { logProb } from "./actor.ts";
import { choice, flag, freeMap, integer, number, section, text } from "./field.ts";

const multiTurn = section("Conversations of several turns with tools and interactions.", {
  enable: flag("Take part in multi-turn conversations.", false),
  max_assistant_turns: integer("Assistant turns at most; null: no limit.", null, { minimum: 1 }),
  max_user_turns: integer("User turns at most; null: no limit.", null, { minimum: 1 }),
  tool_config_path: text("YAML file of tools.", null),
  interaction_config_path: text("YAML file of interactions.", null),
  max_parallel_calls: integer("Tool calls of one turn that are run.", 1, { minimum: 1 }),
  max_tool_response_length: integer("Characters of a tool response that are kept.", 256, { minimum: 1 }),
  tool_response_truncate_side: choice("Which part of a longer tool response is cut away.", "middle", [
    "left",
    "middle",
    "right",
  ]),
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
  calculate_log_probs: flag("Keep the sampler's log-probs in the batch (`rollout_log_probs`).", false),
  ...logProb(),
  val_kwargs: valKwargs,
  multi_turn: multiTurn,
  agent: section("Agent loops.", {
    default_agent_loop: text(
      "Loop of rows without an `agent_name`, a key of the `agent_loop` registry.",
      "single_turn_agent",
    ),
    num_workers: integer("Agent-loop workers.", 8, { minimum: 1 }),
    max_concurrent: integer("Agent loops under way at once.", 10000, {
      minimum: 1,
      "x-departure": "Not in verl, which bounds nothing.",
    }),
  }),
  engine_kwargs: freeMap("Options of the chosen rollout engine, checked by its own schema."),
});
