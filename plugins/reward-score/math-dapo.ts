import type { RewardScore } from "verl";
import { markedAnswer } from "./shared/answer-line.ts";
import { bracesFrom, lastBoxed } from "./shared/boxed.ts";
import { symbolicEqualityOnce } from "./shared/compute-engine.ts";
import { EXACT, equivalent } from "./shared/equivalent.ts";
import { normalizeFinalAnswer } from "./shared/final-answer.ts";
import { MODE_OPTION, truthText, type Mode, type Scored } from "./shared/scored.ts";
import { tail } from "./shared/text.ts";

const TAIL = 300;
const BOX_TAIL = 100;

interface Options {
  mode?: Mode;
  strict_box_verify?: boolean;
}

/** DAPO's scorer: the last line `Answer: …`, with scores +1 and −1. */
export const mathDapo: RewardScore = {
  description: "The last line `Answer: …`, normalised, against the ground truth; +1 or −1.",
  paper: "DAPO, arXiv 2503.14476",
  aliases: ["math", "math_dapo_reasoning"],
  dataSourcePrefixes: ["aime"],
  optionsSchema: {
    type: "object",
    additionalProperties: false,
    properties: {
      mode: MODE_OPTION,
      strict_box_verify: {
        type: "boolean",
        default: false,
        description: "Take the last `\\boxed{…}` of the last 100 characters, and compare it as it stands.",
      },
    },
  },
  departures: [
    "In strict mode the whole text is read, a box counts where there is no `Answer:` line, and numbers and formulas are compared by value; verl reads the last 300 characters and compares normalised texts.",
  ],
  async score({ solution_str, ground_truth, ...options }): Promise<Scored> {
    const { mode = "verl", strict_box_verify = false } = options as Options;
    const truth = truthText(ground_truth);
    if (mode === "strict") {
      const marked = strict_box_verify ? undefined : markedAnswer(solution_str, "colon", "answer_line");
      const found = marked ?? lastBoxed(solution_str);
      if (found.answer === null) return verdict(undefined, null, null, found.reason);
      const rule = equivalent(found.answer, truth, EXACT, await symbolicEqualityOnce());
      return verdict(rule, found.answer, found.by, "different");
    }
    const text = tail(solution_str, TAIL);
    if (strict_box_verify) {
      const box = closedBox(tail(text, BOX_TAIL));
      return verdict(box === truth ? "equal_text" : undefined, box, "boxed", box === null ? "no_box" : "different");
    }
    const line = answerLine(text);
    const answer = normalizeFinalAnswer(line ?? "[INVALID]");
    const rule = answer === normalizeFinalAnswer(truth) ? "equal_normalised" : undefined;
    const why = line === undefined ? "no_answer_line" : "different";
    const result = verdict(rule, line === undefined ? null : answer, "answer_line", why);
    // verl reports what is no answer under this name.
    return { ...result, pred: answer };
  },
};

function verdict(rule: string | undefined, extracted: string | null, by: string | null, why: string): Scored {
  const acc = rule !== undefined;
  return {
    score: acc ? 1 : -1,
    acc,
    pred: extracted,
    extracted,
    extracted_by: extracted === null ? null : by,
    matched_rule: rule ?? why,
  };
}

/** What follows the last `Answer:`, up to the end of its line; space and line ends before it do not count. */
function answerLine(text: string): string | undefined {
  let last: string | undefined;
  // Runs of space lie apart, so each is walked once.
  for (const [, line] of text.matchAll(/Answer\s*:\s*([^\n]+)/gi)) last = line;
  return last;
}

/** The content of the last `\boxed{…}`; null: there is none that closes. */
function closedBox(text: string): string | null {
  const start = text.lastIndexOf("\\boxed{");
  const braces = start < 0 ? undefined : bracesFrom(text, start);
  return braces === undefined ? null : text.slice(braces.open + 1, braces.close);
}
