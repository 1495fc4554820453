import type { Logger } from "../registry/logger.ts";
import { VerlError } from "../errors/verl-error.ts";
import { asMessages, readTools, requireColumn, type RowOrigin } from "./columns.ts";
import type { DatasetSource, Truncation } from "./dataset.ts";
import type { SftExample } from "./loss-mask.ts";
import { maskConversations, type Conversation } from "./prompts/mask-conversations.ts";
import { readRows } from "./read-rows.ts";
import type { Tokenizer } from "./tokenizer.ts";

/** The `data` section of the SFT config, as far as the dataset reads it. */
export interface SftDataConfig {
  messages_key: string;
  tools_key: string;
  max_length: number;
  truncation: Exclude<Truncation, "middle">;
  apply_chat_template_kwargs: Readonly<Record<string, unknown>>;
}

export interface SftDataset {
  readonly length: number;
  example(index: number): SftExample;
  /** What loading found, dropped and cut. */
  readonly stats: Readonly<Record<string, number>>;
}

export interface LoadSftOptions {
  files: readonly string[];
  /** Use at most the first rows of all files together; −1: all. */
  maxSamples: number;
  config: SftDataConfig;
  tokenizer: Tokenizer;
  log: Logger;
  /** As in `DatasetSource`. Default: nothing is shown. */
  progress?: DatasetSource["progress"];
}

/**
 * Reads conversations (a column of chat messages) from parquet or JSON Lines, and tokenises them with the assistant's tokens
 * marked. Conversations without a token to train on are dropped and counted.
 * @throws VerlError of reading, templating and VERL_DATA_PROMPT_TOO_LONG, each naming file and row.
 */
export async function loadSftDataset({
  files,
  maxSamples,
  config,
  tokenizer,
  log,
  progress,
}: LoadSftOptions): Promise<SftDataset> {
  const read: Conversation[] = [];
  for (const file of files) {
    const rows = await readRows(file);
    requireColumn(rows, config.messages_key, file, "data.messages_key");
    for (const [row, columns] of rows.entries()) {
      if (maxSamples >= 0 && read.length >= maxSamples) break;
      const origin = { file, row };
      const messages = asMessages(columns[config.messages_key], config.messages_key, origin);
      read.push({ messages, tools: readTools(columns[config.tools_key], config.tools_key, origin), origin });
    }
  }

  if (read.length === 0) {
    throw new VerlError("VERL_DATA_EMPTY", "The dataset has no rows.", {
      location: { file: files.join(", ") || undefined, path: "data.train_files" },
      hint: "Check data.train_files and data.val_files, and data.train_max_samples and data.val_max_samples.",
    });
  }
  const whole = await maskConversations(tokenizer, read, {
    variables: config.apply_chat_template_kwargs,
    onProgress: progress?.("tokenising conversations"),
  });
  const long = whole.filter(({ ids }) => ids.length > config.max_length);
  const fitted = whole.map((example, index) => fit(example, config, read[index]!.origin));
  const examples = fitted.filter((example) => example.lossMask.includes(1));
  const dropped = fitted.length - examples.length;
  if (long.length > 0)
    log.warn(`Cut ${long.length} of ${read.length} conversations to data.max_length=${config.max_length} tokens.`);
  if (dropped > 0)
    log.warn(`Dropped ${dropped} of ${read.length} conversations: no assistant token to train on is left.`);
  if (examples.length === 0) {
    throw new VerlError("VERL_DATA_EMPTY", `None of ${read.length} conversations has an assistant token to train on.`, {
      location: { file: files.join(", ") },
      hint: "Check the roles in the messages (`assistant`), data.max_length and data.truncation.",
    });
  }
  return {
    length: examples.length,
    example(index) {
      const example = examples[index];
      if (example === undefined) throw new RangeError(`The dataset has no row ${index}; it has ${examples.length}.`);
      return example;
    },
    stats: {
      "data/rows": examples.length,
      "data/conversations_truncated": long.length,
      "data/untrainable_dropped": dropped,
      "data/trained_tokens": examples.reduce(
        (sum, { lossMask }) => sum + lossMask.reduce((count, bit) => count + bit, 0),
        0,
      ),
    },
  };
}

function fit(
  example: SftExample,
  { max_length: limit, truncation }: SftDataConfig,
  { file, row }: RowOrigin,
): SftExample {
  const { ids, lossMask } = example;
  if (ids.length <= limit) return example;
  if (truncation === "error") {
    throw new VerlError(
      "VERL_DATA_PROMPT_TOO_LONG",
      `The conversation of row ${row} has ${ids.length} tokens > ${limit} allowed.`,
      {
        location: { file, path: "data.max_length" },
        hint: `Set data.max_length to at least ${ids.length}, or data.truncation to left or right.`,
        details: { row, tokens: ids.length, limit },
      },
    );
  }
  const start = truncation === "left" ? ids.length - limit : 0;
  return { ids: ids.slice(start, start + limit), lossMask: lossMask.slice(start, start + limit) };
}
