import type { DataProto } from "../batch/data-proto.ts";
import type { ClassEntry } from "../registry/entry.ts";
import type { Logger } from "../registry/logger.ts";
import type { Rng } from "../tensor/rng.ts";
import type { Row } from "./parquet/parquet-type.ts";
import type { ChatMessage, Tokenizer } from "./tokenizer.ts";

/** One row as the trainer sees it: every column of the file with nested values kept, and verl's names settled. */
export interface DatasetRow {
  /** Which score function scores it (`data.reward_fn_key`). */
  data_source: string;
  /** The prompt's messages, checked. The prompt column itself stays among the others. */
  raw_prompt: ChatMessage[];
  reward_model?: { style?: string; ground_truth?: unknown };
  /** `{}` where the file has none. */
  extra_info: Record<string, unknown>;
  /** `extra_info.index`, or else the row's place in the dataset. */
  index: number | string;
  [column: string]: unknown;
}

/**
 * Prompts to answer. Constructed by the run's container; `DATASET_SOURCE` tells which files. One that changes while it trains has
 * `saveState` and `loadState` too (plain JSON); the checkpoint then holds its state.
 */
export interface Dataset {
  /** Reads and checks everything; called once, before all else. */
  load(): Promise<void>;
  /** Rows. It may grow in `onBatchEnd`; new rows join the next epoch. */
  readonly length: number;
  /** Templated and tokenised prompt, not padded, at most `data.max_prompt_length` long. */
  promptIds(index: number): Int32Array;
  row(index: number): DatasetRow;
  /** What loading found, dropped and cut (`data/overlong_dropped`). */
  readonly stats: Readonly<Record<string, number>>;
  /** Called after each training step with the step's batch, as it was trained on: its scores, advantages and columns. */
  onBatchEnd?(batch: DataProto, step: number): void | Promise<void>;
}

/** Which rows a dataset reads; injected under `DATASET_SOURCE`. */
export interface DatasetSource {
  files: readonly string[];
  /** What the rows are for. Default: `train`. */
  split?: "train" | "validation";
  /** How often a row of each file comes: 2 is twice, 0.5 a random half of the file's rows. Absent or empty: once. */
  weights?: readonly number[];
  /** Use at most this many rows; −1: all. */
  maxSamples: number;
  /** Whether `maxSamples` picks rows at random or takes the first ones. */
  shuffle: boolean;
  /** Begins to show how far a long work is; what it returns is told how many parts of how many are done. Default: nothing is shown. */
  progress?: (work: string) => (done: number, total: number) => void;
  /** Folder from which paths in the config start. Default: the working directory. */
  directory?: string;
  /** Tools of rows that have no column `tools`. Default: none. */
  tools?: PromptTools;
}

/** Schemas of the tools that a row's prompt offers. */
export type PromptTools = (row: Readonly<Record<string, unknown>>) => Record<string, unknown>[];

/** Token of the `DatasetSource` of the dataset that is being constructed. */
export const DATASET_SOURCE: unique symbol = Symbol.for("verl.token.DATASET_SOURCE");

/** What a generator of rows is constructed with. */
export interface GeneratorContext {
  /** The run's config. */
  config: object;
  rng: Rng;
  tokenizer: Tokenizer;
  log: Logger;
}

/**
 * Makes rows while a run trains: a class of the user's, named by `data.datagen`. Randomness that comes from `rng` streams named by the
 * step is the same after a resume; what else it remembers goes through `saveState` and `loadState`, as plain JSON.
 */
export interface DataGenerator {
  /** Rows to add after a step, in verl's columns; `[]` for none. @param input.batch the step's batch as it was trained on. */
  generate(input: { dataset: Dataset; batch: DataProto; step: number }): readonly Row[] | Promise<readonly Row[]>;
  saveState?(): unknown;
  loadState?(state: unknown): void;
}

/** The `data` section of the config, as far as datasets read it. */
export interface DataConfig {
  prompt_key: string;
  reward_fn_key: string;
  max_prompt_length: number;
  filter_overlong_prompts: boolean;
  /** Threads; null or absent: one a core. */
  filter_overlong_prompts_workers?: number | null;
  truncation: Truncation;
  apply_chat_template_kwargs: Readonly<Record<string, unknown>>;
}

/** What happens to too many tokens: an error, or the named side is cut away. */
export type Truncation = "error" | "left" | "right" | "middle";

/**
 * Order of rows. A sampler without state depends on the seed and the epoch alone; all state of any other goes through `saveState`, so
 * that a resumed run draws the very rows that an uninterrupted one would.
 */
export interface Sampler {
  /** A permutation of 0 … length − 1 for one epoch (counted from 0). Called again with the same arguments after a resume. */
  order(epoch: number, length: number): Int32Array;
  /** A curriculum: called after each training step with the step's batch, before the next rows are drawn. */
  update?(batch: DataProto): void;
  /** After an `update`: the rows that are still to come in this epoch, in the order that they are to come in now. */
  reorder?(rest: Int32Array): Int32Array;
  /** Plain JSON. */
  saveState(): unknown;
  loadState(state: unknown): void;
}

/** Token of the dataset whose rows a sampler orders. */
export const DATASET: unique symbol = Symbol.for("verl.token.DATASET");

declare module "../registry/entry.ts" {
  interface EntryOf {
    dataset: ClassEntry<Dataset>;
    sampler: ClassEntry<Sampler>;
  }
}
