import type { ClassEntry } from "../registry/entry.ts";
import type { ChatMessage } from "./tokenizer.ts";

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

/** Prompts to answer. Constructed by the run's container; `DATASET_SOURCE` tells which files. */
export interface Dataset {
  /** Reads and checks everything; called once, before all else. */
  load(): Promise<void>;
  readonly length: number;
  /** Templated and tokenised prompt, not padded, at most `data.max_prompt_length` long. */
  promptIds(index: number): Int32Array;
  row(index: number): DatasetRow;
  /** What loading found, dropped and cut (`data/overlong_dropped`). */
  readonly stats: Readonly<Record<string, number>>;
}

/** Which rows a dataset reads; injected under `DATASET_SOURCE`. */
export interface DatasetSource {
  files: readonly string[];
  /** Use at most this many rows; −1: all. */
  maxSamples: number;
  /** Whether `maxSamples` picks rows at random or takes the first ones. */
  shuffle: boolean;
  /** Tools of rows that have no column `tools`. Default: none. */
  tools?: PromptTools;
}

/** Schemas of the tools that a row's prompt offers. */
export type PromptTools = (row: Readonly<Record<string, unknown>>) => Record<string, unknown>[];

/** Token of the `DatasetSource` of the dataset that is being constructed. */
export const DATASET_SOURCE: unique symbol = Symbol.for("verl.token.DATASET_SOURCE");

/** The `data` section of the config, as far as datasets read it. */
export interface DataConfig {
  prompt_key: string;
  reward_fn_key: string;
  max_prompt_length: number;
  filter_overlong_prompts: boolean;
  truncation: Truncation;
  apply_chat_template_kwargs: Readonly<Record<string, unknown>>;
}

/** What happens to too many tokens: an error, or the named side is cut away. */
export type Truncation = "error" | "left" | "right" | "middle";

/** Order of rows. A sampler without state depends on the seed and the epoch alone. */
export interface Sampler {
  /** A permutation of 0 … length − 1 for one epoch (counted from 0). Called again with the same arguments after a resume. */
  order(epoch: number, length: number): Int32Array;
  /** Plain JSON. */
  saveState(): unknown;
  loadState(state: unknown): void;
}

declare module "../registry/entry.ts" {
  interface EntryOf {
    dataset: ClassEntry<Dataset>;
    sampler: ClassEntry<Sampler>;
  }
}
