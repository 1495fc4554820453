import type { SymbolicEquality } from "./compute-engine.ts";
import { equalAnswers, type Tolerance } from "./expression/equal.ts";
import { parseAnswer, type Answer } from "./expression/parse.ts";

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
  const [given, asked] = [plain(prediction), plain(gold)];
  if (given === "" || asked === "") return undefined;
  if (given === asked) return "equal_text";
  const [a, b] = [parseAnswer(given), parsedGold(asked)];
  if (a !== undefined && b !== undefined) return equalAnswers(a, b, tolerance);
  return symbolic?.(given, asked) === true ? "compute_engine" : undefined;
}

/** Without space around it, markdown's bold, and a full stop at the end. */
function plain(text: string): string {
  const trimmed = text.trim().replace(/\.$/, "");
  return trimmed.length > 4 && trimmed.startsWith("**") && trimmed.endsWith("**")
    ? trimmed.slice(2, -2).trim()
    : trimmed;
}

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
