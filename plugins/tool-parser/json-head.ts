import { isSpace, letterFrom } from "verl";

/** What an object shows of itself before it is read: `usual` starts as calls do, `other` might be one that starts with another key. */
export type JsonHead = "usual" | "other" | "none";

const FIRST_KEYS = new Set(["name", "function", "type", "id", "arguments", "parameters"]);

const FENCE = "```";
/** Letters that may come next, behind a fence's own: most marks of an answer need no more than this look. */
const NEXT: Readonly<Record<string, string>> = { "{": `"'“”‘’`, "[": "{", [FENCE]: "{[" };
/** Letters of a fence's language at most, and those that are none. */
const LANGUAGE = 16;
const NO_LANGUAGE = `[{"'\``;

/** Groups: the quote, the key, its closing quote, the value's first letter; as many of them as the text has. */
const SPACE = "[ \\t-\\r]{0,64}";
const QUOTE = `["'“”‘’]`;
const KEY = `${SPACE}(?:(${QUOTE})(?:([^"'“”‘’\\\\]{0,64})(?:(${QUOTE})${SPACE}(?::${SPACE}([^ \\t-\\r])?)?)?)?)?`;
const HEADS: Readonly<Record<string, RegExp>> = {
  "{": new RegExp(KEY, "y"),
  "[": new RegExp(`${SPACE}(?:\\{${KEY})?`, "y"),
  [FENCE]: new RegExp(`[^\\s[{"'\`]{0,16}${SPACE}(?:\\[${SPACE})?(?:\\{${KEY})?`, "y"),
};

/**
 * Looks at the first key of the object that follows a `{`, a `[` or a code fence, up to `at`. It is called for every brace of an answer, so
 * it looks at a few letters only, once. Undefined: the text ends before that is clear.
 */
export function headOf(mark: string, text: string, at: number): JsonHead | undefined {
  const head = HEADS[mark];
  if (head === undefined) return "none";
  const next = letterFrom(text, mark === FENCE ? pastLanguage(text, at) : at);
  if (next !== undefined && !NEXT[mark]!.includes(next)) return "none";
  head.lastIndex = at;
  const [, quote, key = "", closed, value] = head.exec(text) ?? [];
  if (closed !== undefined && FIRST_KEYS.has(key)) return "usual";
  // Lists and objects come last in calls.
  if (value !== undefined) return quote === '"' && /["\-\dtfn]/.test(value) ? "other" : "none";
  return head.lastIndex === text.length ? undefined : "none";
}

/** Where the word that a fence may open with ends. */
function pastLanguage(text: string, at: number): number {
  let end = at;
  while (end < Math.min(at + LANGUAGE, text.length)) {
    if (isSpace(text.charCodeAt(end)) || NO_LANGUAGE.includes(text[end]!)) break;
    end += 1;
  }
  return end;
}
