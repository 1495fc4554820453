import type { EntryMeta } from "verl";

/** `verl`: verl's own verdict, number for number, its faults included. `strict`: the right verdict. */
export type Mode = "verl" | "strict";

/** What every score function here returns: the score, and why. */
export interface Scored extends Record<string, unknown> {
  score: number;
  /** The answer is right. */
  acc: boolean;
  /** The answer as found in the text; null: none was found. */
  extracted: string | null;
  /** How it was found: `boxed`, `hash_marks`, … */
  extracted_by: string | null;
  /** The rule that decided: what made the two equal, `different`, or why there is no answer. */
  matched_rule: string;
}

/** An answer in a text, or the reason why there is none. */
export type Extraction = { answer: string; by: string } | { answer: null; reason: string };

/** The option that all these functions have. */
export const MODE_OPTION: NonNullable<EntryMeta["optionsSchema"]> = {
  type: "string",
  enum: ["verl", "strict"],
  default: "verl",
  description: "`verl`: verl's own verdict, its faults included. `strict`: the right verdict.",
};

/** The ground truth as text; verl's datasets hold strings, others hold numbers. */
export function truthText(truth: unknown): string {
  if (typeof truth === "string") return truth;
  if (typeof truth === "number" || typeof truth === "bigint") return String(truth);
  throw new TypeError(`the ground truth is ${truth === null ? "null" : typeof truth}, not a string or number`);
}
