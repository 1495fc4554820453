import { choice, flag, freeMap, integer, orNull, section, text, texts } from "./field.ts";

export const data = section("What is trained on.", {
  dataset: text("Dataset class, a key of the `dataset` registry.", "rlhf", {
    "x-departure": "verl names a Python class by file (`data.custom_cls`); here it is a registered key.",
  }),
  tokenizer: text("Folder of the tokenizer; null: the model's.", null),
  train_files: texts("Parquet or JSONL files of training prompts; one path or a list.", [
    "~/data/rlhf/gsm8k/train.parquet",
  ]),
  val_files: texts("Files of validation prompts; null or [] for none.", ["~/data/rlhf/gsm8k/test.parquet"]),
  train_max_samples: integer("Use at most this many training rows; -1: all.", -1, { minimum: -1 }),
  val_max_samples: integer("Use at most this many validation rows; -1: all.", -1, { minimum: -1 }),
  prompt_key: text("Column that holds the prompt, a list of chat messages.", "prompt"),
  reward_fn_key: text("Column that says how a row is scored.", "data_source"),
  max_prompt_length: integer("Tokens of the longest prompt; prompts are left-padded to it.", 512, { minimum: 1 }),
  max_response_length: integer("Tokens of the longest response; responses are right-padded to it.", 512, {
    minimum: 1,
  }),
  train_batch_size: integer("Prompts a step; each is answered `actor_rollout_ref.rollout.n` times.", 1024, {
    minimum: 1,
  }),
  gen_batch_size: integer("Prompts fetched at a time; null: `train_batch_size`.", null, { minimum: 1 }),
  val_batch_size: integer("Prompts validated at a time; null: all at once.", null, { minimum: 1 }),
  shuffle: flag("Draw training prompts in a new random order each epoch.", true),
  seed: integer("Seed of that order; null: `trainer.seed`.", null, { minimum: 0 }),
  validation_shuffle: flag("Shuffle validation prompts.", false),
  sampler: section("Order of the training prompts.", {
    name: text("Key of the `sampler` registry; null: `random` when `data.shuffle`, else `sequential`.", null, {
      "x-departure": "verl names a Python class by file (`class_path`, `class_name`); here it is a registered key.",
    }),
  }),
  filter_overlong_prompts: flag("Drop prompts longer than `max_prompt_length` before training.", false),
  truncation: choice("What happens to a longer prompt that was not dropped.", "error", [
    "error",
    "left",
    "right",
    "middle",
  ]),
  apply_chat_template_kwargs: freeMap("Further variables for the chat template."),
  tool_config_path: orNull(
    text(
      "YAML file of tools that prompts are templated with; null: none.",
      "${actor_rollout_ref.rollout.multi_turn.tool_config_path}",
    ),
  ),
});
