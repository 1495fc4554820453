import type { RewardScore } from "verl";
import { MODE_OPTION, truthText, type Extraction, type Mode, type Scored } from "./shared/scored.ts";
import { tail } from "./shared/text.ts";

interface Options {
  mode?: Mode;
  method?: "strict" | "flexible";
  format_score?: number;
  score?: number;
}

const MARK = "####";
/** verl looks no further back. */
const TAIL = 300;

/** Grade-school sums: the number after `####`, or with `method: flexible` the last number. */
export const gsm8k: RewardScore = {
  description: "The number after the last `####`, or the last number of all, against the ground truth.",
  paper: "GSM8K, arXiv 2110.14168",
  aliases: ["openai/gsm8k"],
  optionsSchema: {
    type: "object",
    additionalProperties: false,
    properties: {
      mode: MODE_OPTION,
      method: {
        type: "string",
        enum: ["strict", "flexible"],
        default: "strict",
        description: "`strict`: the number after `####`. `flexible`: the last number.",
      },
      format_score: { type: "number", default: 0, description: "Score of a wrong answer in the right form." },
      score: { type: "number", default: 1, description: "Score of a right answer." },
    },
  },
  departures: [
    "In strict mode the whole text is read, not its last 300 characters; money signs, commas, zeros and a full stop at the end do not count.",
  ],
  score({ solution_str, ground_truth, ...options }): Scored {
    const { mode = "verl", method = "strict", format_score = 0, score = 1 } = options as Options;
    const truth = truthText(ground_truth);
    const found = mode === "verl" ? verlNumber(tail(solution_str, TAIL), method) : lastNumber(solution_str, method);
    if (found.answer === null)
      return { score: 0, acc: false, extracted: null, extracted_by: null, matched_rule: found.reason };
    const acc =
      mode === "verl" ? found.answer === truth : canonicalNumber(found.answer) === (canonicalNumber(truth) ?? truth);
    return {
      score: acc ? score : format_score,
      acc,
      extracted: found.answer,
      extracted_by: found.by,
      matched_rule: acc ? (found.answer === truth ? "equal_text" : "equal_number") : "different",
    };
  },
};

/** verl's two patterns, character for character: `42.` keeps its dot. */
function verlNumber(text: string, method: "strict" | "flexible"): Extraction {
  if (method === "strict") {
    let last: string | undefined;
    for (const [, number] of text.matchAll(/#### (-?[0-9.,]+)/g)) last = number;
    if (last === undefined) return { answer: null, reason: "no_hash_marks" };
    return { answer: last.replaceAll(",", ""), by: "hash_marks" };
  }
  const runs = text.match(/-?[0-9.,]+/g);
  if (runs === null) return { answer: null, reason: "no_number" };
  // Of runs that are all a lone dot, verl's loop ends at the first.
  return { answer: runs.findLast((run) => run !== ".") ?? runs[0], by: "last_number" };
}

// Thousands commas only where they stand right, so `3, 4` and `1,2` are two numbers; the minus of a difference is no sign.
const NUMBER = /(?:(?<![\w)])[-−])?\$?(?:\d+(?:,\d{3})*(?!\d)(?:\.\d+)?|\.\d+)/g;
// Bold, quotes, a colon or a box may stand before the number; of a sum, a fraction or a time it is only a part, and no answer.
const MARKED =
  /^(?:[*_`"':=~({\s]|\\(?:boxed|text|[([])){0,12}([-−+]?\s?(?:\\?\p{Sc})?\s?[-−]?(?:(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?|\.\d+))(?![,_]?\d|\s?[-−+*×x/:^=]\s?[\d$]|[eE][-+]?\d)/u;
/** Characters after a mark in which its number stands. */
const BEHIND = 256;

/** The last number, or the one right after the last `####`; money signs and what follows the number are not of it. */
function lastNumber(text: string, method: "strict" | "flexible"): Extraction {
  if (method === "strict") {
    const behind = behindLastMark(text);
    if (behind === undefined) return { answer: null, reason: "no_hash_marks" };
    const number = MARKED.exec(behind)?.[1];
    return number === undefined
      ? { answer: null, reason: "no_number_after_hash_marks" }
      : { answer: bare(number), by: "hash_marks" };
  }
  let last: string | undefined;
  for (const [number] of text.matchAll(NUMBER)) last = number;
  return last === undefined ? { answer: null, reason: "no_number" } : { answer: bare(last), by: "last_number" };
}

/** What stands behind the last `####`; one with nothing behind it only closes what is before it. */
function behindLastMark(text: string): string | undefined {
  for (let end = text.length; end > 0;) {
    const at = text.lastIndexOf(MARK, end - 1);
    if (at < 0) return undefined;
    const behind = text.slice(at + MARK.length, Math.min(at + MARK.length + BEHIND, end));
    if (behind.trim() !== "") return behind;
    end = at;
  }
  return undefined;
}

const bare = (number: string): string => number.replace(/[\s,+\\]|\p{Sc}/gu, "").replace("−", "-");

/** One spelling for one number: `03.50` → `3.5`; undefined: it is no number. */
function canonicalNumber(text: string): string | undefined {
  const parts = /^(-?)(\d*)(?:\.(\d*))?$/.exec(bare(text.trim()));
  if (parts === null || (parts[2] === "" && (parts[3] ?? "") === "")) return undefined;
  const [, sign, whole = "", decimals = ""] = parts;
  const fraction = withoutTrailingZeros(decimals);
  const value = `${whole.replace(/^0+/, "") || "0"}${fraction === "" ? "" : `.${fraction}`}`;
  return value === "0" ? "0" : `${sign}${value}`;
}

function withoutTrailingZeros(digits: string): string {
  let end = digits.length;
  while (digits[end - 1] === "0") end--;
  return digits.slice(0, end);
}
