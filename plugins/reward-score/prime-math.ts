import type { RewardScore } from "verl";
import { markedAnswer } from "./shared/answer-line.ts";
import { bracesFrom, lastBoxed } from "./shared/boxed.ts";
import { symbolicEqualityOnce } from "./shared/compute-engine.ts";
import { EXACT, equivalent } from "./shared/equivalent.ts";
import { grade } from "./shared/grade.ts";
import { MODE_OPTION, truthText, type Extraction, type Mode, type Scored } from "./shared/scored.ts";

interface Options {
  mode?: Mode;
  percent?: boolean;
}

/** A percentage is rarely an exact fraction. */
const PERCENT = { relative: 1e-9, percent: true };
/** How close verl wants numbers. */
const CLOSE = { relative: 1e-4, percent: false };
const CLOSE_OR_PERCENT = { ...CLOSE, percent: true };

/** PRIME's grader of mathematics: normalised texts, then intervals, tuples, matrices, numbers and formulas by value. */
export const primeMath: RewardScore = {
  description:
    "The answer found by its marks or its box, against the ground truth by value: numbers, intervals, tuples, matrices, formulas; 1 or 0.",
  paper: "PRIME, arXiv 2502.01456; PRM800K's grader, arXiv 2305.20050",
  aliases: [
    "numina_aops_forum",
    "numina_synthetic_math",
    "numina_amc_aime",
    "numina_synthetic_amc",
    "numina_cn_k12",
    "numina_olympiads",
  ],
  optionsSchema: {
    type: "object",
    additionalProperties: false,
    properties: {
      mode: MODE_OPTION,
      percent: {
        type: "boolean",
        default: false,
        description: "Take a hundredth and a hundred times the number too.",
      },
    },
  },
  departures: [
    "A parser of its own compares formulas, as exact fractions or at fixed points, where verl calls sympy; `@cortex-js/compute-engine`, if installed, is asked about what it does not understand.",
    "Only with `percent: true` is 7.41 % right where 0.0741 is asked for, and 741 where 7.41 is; verl always takes both.",
    "In strict mode the last box or the text after `answer is` or `answer:` is the answer, numbers are compared exactly, and fractions need not be in the same terms.",
  ],
  async score({ solution_str, ground_truth, ...options }): Promise<Scored> {
    const { mode = "verl", percent = false } = options as Options;
    const truth = truthText(ground_truth);
    const found = mode === "verl" ? verlAnswer(solution_str) : strictAnswer(solution_str);
    if (found.answer === null)
      return { score: 0, acc: false, extracted: null, extracted_by: null, matched_rule: found.reason };
    const symbolic = await symbolicEqualityOnce();
    const { answer, by } = found;
    const rule =
      mode === "verl"
        ? grade(answer, truth, { numbers: percent ? CLOSE_OR_PERCENT : CLOSE, symbolic })
        : equivalent(answer, truth, percent ? PERCENT : EXACT, symbolic);
    const acc = rule !== undefined;
    return { score: acc ? 1 : 0, acc, extracted: answer, extracted_by: by, matched_rule: rule ?? "different" };
  },
};

const AFTER = ["answer:", "answer is", "answers are"];
const BEFORE = ["is answer", "is the answer", "are answers", "are the answers"];
const LAST = ["be ", "is ", "are ", "=", ": ", "get ", "be\n", "is\n", "are\n", ":\n", "get\n"];

/** verl's chain of marks, each cutting what the one before left. It always ends with some text. */
function verlAnswer(text: string): Extraction {
  let answer = text;
  let lower = lowerCase(text);
  let by = "whole_text";
  const cut = (from: number, to: number, mark: string): void => {
    const part = answer.slice(from, to);
    const start = from + part.length - part.trimStart().length;
    answer = part.trim();
    lower = lower.slice(start, start + answer.length);
    by = mark;
  };
  const cutAfter = (marks: readonly string[], name: () => string): void => {
    for (const mark of marks) {
      const at = lower.lastIndexOf(mark);
      if (at >= 0) cut(at + mark.length, answer.length, name());
    }
  };

  cutAfter(AFTER, () => "answer_mark");
  for (const mark of BEFORE) {
    const at = lower.lastIndexOf(mark);
    if (at >= 0) cut(0, at, "answer_mark");
  }
  const boxed = answer.lastIndexOf("\\boxed");
  const start = boxed >= 0 ? boxed : answer.lastIndexOf("\\fbox");
  const braces = start < 0 ? undefined : bracesFrom(answer, start);
  if (braces !== undefined && answer.slice(braces.open + 1, braces.close).trim() !== "")
    cut(braces.open + 1, braces.close, "boxed");
  const stop = answer.lastIndexOf(". ");
  if (stop >= 0) cut(0, stop, by);
  cutAfter(LAST, () => (by === "boxed" ? by : "last_mark"));
  return { answer, by };
}

/** In lower case, every character at its place; the few that change their length keep their case. */
function lowerCase(text: string): string {
  const lower = text.toLowerCase();
  return lower.length === text.length ? lower : text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

function strictAnswer(text: string): Extraction {
  const boxed = lastBoxed(text);
  if (boxed.answer !== null || boxed.reason !== "no_box") return boxed;
  return markedAnswer(text, "colon_or_is", "answer_mark") ?? { answer: null, reason: "no_box" };
}
