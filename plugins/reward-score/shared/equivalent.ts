import type { SymbolicEquality } from "./compute-engine.ts";
import { equalAnswers, type Tolerance } from "./expression/equal.ts";
import { parseAnswer, type Answer } from "./expression/parse.ts";
import { plainAnswer } from "./plain-answer.ts";

/** Exact numbers, and `%` means what it says. */
export const EXACT: Tolerance = { relative: 0, percent: false };

/**
 * Why two answers mean the same: `equal_text`, a rule of `equalAnswers`, or `compute_engine`; undefined: they do not, as far as is known.
 * Numbers are compared as exact fractions, formulas at fixed points, intervals, tuples, sets and matrices part by part.
 * @param symbolic the last resort, for what the parser here does not understand.
 */
export function equivalent(
  prediction: string,
  gold: string,
  tolerance: Tolerance = EXACT,
  symbolic?: SymbolicEquality,
): string | undefined {
  const [given, asked] = [plainAnswer(prediction), plainAnswer(gold)];
  if (given.text === "" || asked.text === "") return undefined;
  if (given.text === asked.text) return "equal_text";
  if ((given.words || asked.words) && inWords(given.text) === inWords(asked.text)) return "equal_text";
  const [a, b] = [parseAnswer(given.text), parsedGold(asked.text)];
  if (a !== undefined && b !== undefined) return equalAnswers(a, b, tolerance);
  return symbolic?.(given.text, asked.text) === true ? "compute_engine" : undefined;
}

/** Words are one whatever their case; the letters of mathematics are not. */
const inWords = (text: string): string => text.toLowerCase().split(/\s+/).join(" ");

/** The answers of one prompt share their gold. */
const MEMORY = 256;
const remembered = new Map<string, Answer | undefined>();

function parsedGold(text: string): Answer | undefined {
  if (remembered.has(text)) return remembered.get(text);
  const answer = parseAnswer(text);
  if (remembered.size >= MEMORY) remembered.delete(remembered.keys().next().value!);
  remembered.set(text, answer);
  return answer;
}
