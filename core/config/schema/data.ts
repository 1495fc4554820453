import { choice, flag, freeMap, integer, numbers, orNull, section, text, texts } from "./field.ts";

export const data = section("What is trained on.", {
  dataset: text("Dataset class, a key of the `dataset` registry.", "rlhf", { "x-departure": "Not in verl." }),
  custom_cls: section("A dataset class of a file, in place of `dataset`.", {
    path: text("A .ts or .js file; null: the registered class.", null, {
      "x-departure": "In verl it is a Python file.",
    }),
    name: text("Class that it exports; null: its only one.", null),
  }),
  datagen: section("Rows that are made while training; a path here makes `dynamic` the dataset of `train_files`.", {
    path: text("A .ts or .js file with a generator; null: none.", null, {
      "x-departure": "In verl it is a Python file, and the dataset must be named as well.",
    }),
    name: text("Class that it exports; null: its only one.", null),
  }),
  tokenizer: text("Folder of the tokenizer; null: the model's.", null),
  train_files: texts("Parquet or JSONL files of training prompts; one path or a list.", [
    "~/data/rlhf/gsm8k/train.parquet",
  ]),
  train_weights: numbers(
    "How often a row of each training file comes in an epoch, one number a file: 2 is twice, 0.5 a random half of the rows; none: once.",
    { exclusiveMinimum: 0, "x-departure": "Not in verl." },
  ),
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
  validation_shuffle: flag("Draw validation prompts in a new random order each time.", false),
  sampler: section("Order of the training prompts.", {
    name: text("Key of the `sampler` registry; null: `random` when `data.shuffle`, else `sequential`.", null, {
      "x-departure": "Not in verl.",
    }),
    kwargs: freeMap("Options of the sampler, checked by its own schema."),
    class_path: text("A .ts or .js file with a sampler class, in place of `name`; null: a registered one.", null, {
      "x-departure": "In verl it is a Python file.",
    }),
    class_name: text("Class that it exports; null: its only one.", null),
  }),
  filter_overlong_prompts: flag(
    "Drop prompts longer than `max_prompt_length` before training. Lengths of many prompts are kept by content in VERL_CACHE_DIR, or else ~/.cache/verl.",
    false,
  ),
  filter_overlong_prompts_workers: integer(
    "Threads that measure prompts, where there are many; null: one a core.",
    null,
    { minimum: 1, "x-departure": "verl's default is 1." },
  ),
  truncation: choice("What happens to a longer prompt that was not dropped.", "error", [
    "error",
    "left",
    "right",
    "middle",
  ]),
  apply_chat_template_kwargs: freeMap("Further variables for the chat template."),
  tool_config_path: orNull(
    text(
      "YAML file of tools that prompts without a column `tools` are templated with; null: none.",
      "${actor_rollout_ref.rollout.multi_turn.tool_config_path}",
    ),
  ),
});
