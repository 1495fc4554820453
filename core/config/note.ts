import type { ErrorLocation } from "../errors/index.ts";

/** What a note is about, the most important first. */
export const IMPORTANCE = {
  result: "It changes what is learned",
  output: "It changes what is written",
  cost: "It changes speed and memory at most",
  spelling: "It is read, from another place",
} as const;

/** How much a note matters to the reader; most first in `IMPORTANCE`. */
export type Importance = keyof typeof IMPORTANCE;

/** Something that a person should know of a config that is valid all the same. */
export interface Note {
  readonly message: string;
  readonly location: ErrorLocation;
  readonly importance: Importance;
}

const ORDER = Object.keys(IMPORTANCE) as Importance[];

/** The most important first, else in the order in which they were found. */
export const byImportance = (notes: readonly Note[]): Note[] =>
  ORDER.flatMap((importance) => notes.filter((note) => note.importance === importance));
