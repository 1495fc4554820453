import { checkpoint } from "./checkpoint.ts";
import { choice, flag, freeMap, integer, orNull, section, text, texts, type ValueOf } from "./field.ts";
import { host } from "./host.ts";
import { model } from "./model.ts";
import { optim } from "./optim.ts";
import { commonTrainer } from "./trainer.ts";

const data = section("Conversations to imitate.", {
  train_files: texts("Parquet or JSONL files of conversations; one path or a list.", ["~/data/gsm8k/train.parquet"]),
  val_files: texts("Files of validation conversations; null or [] for none.", ["~/data/gsm8k/test.parquet"]),
  custom_cls: section("A dataset class of a file, in place of what reads the files.", {
    path: text("A .ts or .js file; null: none.", null, { "x-departure": "In verl it is a Python file." }),
    name: text("Class that it exports; null: its only one.", null),
  }),
  train_max_samples: integer("Use at most this many training rows; -1: all.", -1, { minimum: -1 }),
  val_max_samples: integer("Use at most this many validation rows; -1: all.", -1, { minimum: -1 }),
  train_batch_size: integer("Conversations an optimizer step.", 256, { minimum: 1 }),
  micro_batch_size_per_gpu: orNull(
    integer("Conversations of one backward pass on a rank; null: derived.", 4, { minimum: 1 }),
  ),
  messages_key: text("Column that holds the conversation, a list of chat messages.", "messages"),
  tools_key: text("Column that holds the tools' schemas, where a row has any.", "tools"),
  max_length: integer("Tokens of the longest conversation.", 1024, { minimum: 2 }),
  truncation: choice("What happens to a longer one.", "error", ["error", "left", "right"]),
  packing: flag("Put several short conversations into one row.", false, { "x-departure": "Not in verl." }),
  shuffle: flag("Draw conversations in a new random order each epoch.", true),
  apply_chat_template_kwargs: freeMap("Further variables for the chat template."),
});

/** The config tree of `verl sft`: that of verl's model-engine SFT trainer. */
export const sftSection = section("Supervised fine-tuning (`verl sft`).", {
  data,
  model: model(),
  optim: optim({ lr: 1e-5, betas: [0.9, 0.95], warmupRatio: 0.1, scheduler: "cosine" }),
  engine: section("The training engine.", {
    strategy: text("Key of the `engine` registry.", "embedded", { "x-departure": "verl's default is `fsdp`." }),
  }),
  trainer: section("The run.", {
    ...commonTrainer({ project: "gsm8k-sft", experiment: "test", epochs: 4, seedInVerl: "verl's default is 1." }),
    max_ckpt_to_keep: integer("Checkpoints to keep; null: all.", null, { minimum: 1 }),
    checkpoint,
  }),
  ...host,
});

/** The config of `verl sft` with every default filled in. */
export type SftConfig = ValueOf<typeof sftSection>;
