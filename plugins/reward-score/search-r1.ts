import type { RewardScore } from "verl";
import { MODE_OPTION, type Extraction, type Mode, type Scored } from "./shared/scored.ts";

interface Options {
  mode?: Mode;
  match?: "exact" | "substring";
  format_score?: number;
  score?: number;
}

/** More tags of one sort than this is taken for guessing. */
const MOST_TAGS = 10;
const OPEN = "<answer>";
const CLOSE = "</answer>";

/** Questions answered after a search: the last `<answer>…</answer>` against one of the targets. */
export const searchR1: RewardScore = {
  description:
    "The last `<answer>…</answer>`, without case, punctuation and articles, against any of `ground_truth.target`.",
  paper: "Search-R1, arXiv 2503.09516",
  aliases: ["nq", "triviaqa", "popqa", "hotpotqa", "2wikimultihopqa", "musique", "bamboogle"].map(
    (name) => `searchR1_${name}`,
  ),
  optionsSchema: {
    type: "object",
    additionalProperties: false,
    properties: {
      mode: MODE_OPTION,
      match: {
        type: "string",
        enum: ["exact", "substring"],
        default: "exact",
        description: "`exact`: the answer is a target. `substring`: it holds one.",
      },
      format_score: { type: "number", default: 0, description: "Score of a wrong answer in tags." },
      score: { type: "number", default: 1, description: "Score of a right answer." },
    },
  },
  departures: [
    "In strict mode the answer is what the innermost last tags hold, a target is found as whole words only, and one of articles and punctuation alone matches nothing.",
  ],
  score({ solution_str, ground_truth, ...options }): Scored {
    const { mode = "verl", match = "exact", format_score = 0, score = 1 } = options as Options;
    const targets = targetsOf(ground_truth);
    const found = mode === "verl" ? lastPair(solution_str) : innermostLastPair(solution_str);
    if (found.answer === null)
      return { score: 0, acc: false, extracted: null, extracted_by: null, matched_rule: found.reason };
    const answer = normalized(found.answer);
    const acc = targets.map(normalized).some((target) => {
      if (match === "exact") return answer === target && (mode === "verl" || target !== "");
      return mode === "verl" ? answer.includes(target) : target !== "" && ` ${answer} `.includes(` ${target} `);
    });
    const penalised = acc && mode === "verl" && match === "exact" && tooManyTags(solution_str);
    return {
      score: acc ? (penalised ? score / 4 : score) : format_score,
      acc,
      extracted: found.answer,
      extracted_by: found.by,
      matched_rule: acc ? (penalised ? `${match}_with_too_many_tags` : match) : "different",
    };
  },
};

/** verl's datasets hold `{ target }`, one or several. */
function targetsOf(truth: unknown): string[] {
  const target: unknown = typeof truth === "object" && truth !== null && "target" in truth ? truth.target : truth;
  const all = Array.isArray(target) ? (target as unknown[]) : [target];
  if (!all.every((one) => typeof one === "string"))
    throw new TypeError("the ground truth is neither a string nor { target } of strings");
  return all;
}

const NO_ANSWER: Extraction = { answer: null, reason: "no_answer_tags" };

/** The last of the pairs met from the left, each up to the next closing tag. One pass. */
function lastPair(text: string): Extraction {
  let answer: string | undefined;
  for (let at = 0; ;) {
    const open = text.indexOf(OPEN, at);
    const close = open < 0 ? -1 : text.indexOf(CLOSE, open);
    if (close < 0) break;
    answer = text.slice(open + OPEN.length, close);
    at = close + CLOSE.length;
  }
  return answer === undefined ? NO_ANSWER : { answer: answer.trim(), by: "answer_tags" };
}

function innermostLastPair(text: string): Extraction {
  const close = text.lastIndexOf(CLOSE);
  const open = close < 0 ? -1 : text.lastIndexOf(OPEN, close);
  return open < 0 ? NO_ANSWER : { answer: text.slice(open + OPEN.length, close).trim(), by: "answer_tags" };
}

const tooManyTags = (text: string): boolean =>
  [OPEN, CLOSE].some((tag) => text.split(tag, MOST_TAGS + 2).length - 1 > MOST_TAGS);

const PUNCTUATION = /[!-/:-@[-`{-~]/g;
const ARTICLE = /(?<![\p{L}\p{N}_])(?:an?|the)(?![\p{L}\p{N}_])/gu;

/** SQuAD's normaliser: lower case, no punctuation, no articles, single spaces. */
const normalized = (text: string): string =>
  text.toLowerCase().replace(PUNCTUATION, "").replace(ARTICLE, " ").split(/\s+/).filter(Boolean).join(" ");
