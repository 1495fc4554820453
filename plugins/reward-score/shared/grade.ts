import type { SymbolicEquality } from "./compute-engine.ts";
import { equivalent } from "./equivalent.ts";
import type { Tolerance } from "./expression/equal.ts";
import { sameStripped } from "./strip-string.ts";
import { isFarLonger } from "./text.ts";

const NO_PERCENT = { relative: 0, percent: true };

/**
 * The grader that verl takes over from PRM800K; the rule that matched, or undefined. Where the gold is a whole number, so must the answer
 * be; two simple fractions must be in the same terms.
 * @param numbers how far decimals, and lists of them, may be apart in the numeric comparison that prime_math adds; undefined: it is left out.
 */
export function grade(
  prediction: string,
  gold: string,
  { numbers, symbolic }: { numbers?: Tolerance; symbolic?: SymbolicEquality },
): string | undefined {
  if (isFarLonger(prediction, gold)) return undefined;
  if (sameStripped(prediction, gold)) return "equal_normalised";
  const [given, asked] = [normalized(prediction), normalized(gold)];
  if (given === "") return undefined;
  if (given === asked) return "equal_normalised";
  const fractions = SIMPLE_FRACTION.test(given) && SIMPLE_FRACTION.test(asked);
  const wholeDiffers = WHOLE.test(given) !== WHOLE.test(asked);
  const listDiffers = given.includes(",") !== asked.includes(",");
  if (!fractions && !wholeDiffers && !listDiffers) {
    const rule = equivalent(given, asked, NO_PERCENT, symbolic);
    if (rule !== undefined && rule !== "percent") return rule;
  }
  const both = (pattern: RegExp): boolean => [given, asked].every((text) => pattern.test(text));
  return numbers !== undefined && (both(DECIMAL) || both(LISTED)) ? equivalent(given, asked, numbers) : undefined;
}

const WHOLE = /^-?\d{1,400}$/;
const DECIMAL = /^-?(?:\d{1,400}(?:\.\d{0,400})?|\.\d{1,400})$/;
const LISTED = /[,&]|\\pi/;
const SIMPLE_FRACTION = /^-?(?:\d{1,400}\/\d{1,400}|\\frac\{?\d{1,400}\}?\{?\d{1,400}\}?)$/;
const UNITS = "degree cm centimeter meter mile second minute hour day week month year foot feet inch yard liter".split(
  " ",
);
const WORDS: readonly (readonly [string, string])[] = [
  ["million", "*10^6"],
  ["billion", "*10^9"],
  ["trillion", "*10^12"],
  ["\\dfrac", "\\frac"],
  ["\\tfrac", "\\frac"],
  ["\\left", ""],
  ["\\right", ""],
  [" or ", " , "],
  [" and ", " , "],
];

/** Without units, money, percent signs and case; thousands without commas. */
function normalized(text: string): string {
  let s = text.trim();
  if (s.startsWith("\\text{") && s.indexOf("}") === s.length - 1) s = s.slice(6, -1);
  s = s.replace(/\\?[%$]/g, "");
  for (const [from, to] of WORDS) s = s.replaceAll(from, to);
  for (const unit of UNITS) {
    if (s.includes(unit)) s = s.replace(new RegExp(`${unit}(?:es)?s?(?: {0,9}\\^\\d{1,9})?`, "g"), "");
  }
  s = s
    .replace(/\^ ?(?:\\circ|\{\\circ\})/g, "")
    .replace(/,\\! ?/g, "")
    .replace(/\.$/, "")
    .trim();
  if (s.startsWith("{") && s.endsWith("}")) s = s.slice(1, -1);
  s = s.replace(/- /g, "-");
  if (/^-?\d{1,3}(?:,\d{3}){1,130}(?:\.\d{1,400})?$/.test(s)) s = s.replaceAll(",", "");
  if (/^-?\d{1,400}\.0{1,400}$/.test(s)) s = s.slice(0, s.indexOf("."));
  // Commands keep their case, as `\Delta` is not `\delta`; everything else is read without it.
  return s.includes("\\") ? s : s.toLowerCase();
}
