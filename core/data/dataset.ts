import type { ClassEntry } from "../registry/entry.ts";
import type { ChatMessage } from "./tokenizer.ts";

/** One row as the trainer sees it: verl's columns with nested values kept. */
export interface DatasetRow {
  data_source: string;
  prompt: ChatMessage[];
  reward_model?: { style?: string; ground_truth?: unknown };
  extra_info?: Record<string, unknown>;
  [column: string]: unknown;
}

export interface Dataset {
  readonly length: number;
  /** Templated and tokenised prompt, not padded. */
  promptIds(index: number): Int32Array;
  row(index: number): DatasetRow;
  /** Counters of what loading dropped or cut (`data/overlong_dropped`). */
  readonly stats: Readonly<Record<string, number>>;
}

/** Order of rows. State is plain JSON so that resume goes on at the exact sample. */
export interface Sampler {
  /** Indices of one epoch. */
  order(epoch: number, length: number): Int32Array;
  saveState(): unknown;
  loadState(state: unknown): void;
}

declare module "../registry/entry.ts" {
  interface EntryOf {
    dataset: ClassEntry<Dataset>;
    sampler: ClassEntry<Sampler>;
  }
}
