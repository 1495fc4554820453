import { isSpace, type MarkGuard } from "verl";

/** What an object shows of itself before it is read: `usual` starts as calls do, `other` is one with another first key: a call still, or data. */
export type JsonHead = "usual" | "other" | "none";

const FIRST_KEYS = new Set([
  "name",
  "function",
  "type",
  "id",
  "arguments",
  "parameters",
  "tool_calls",
  "function_call",
]);
const LONGEST_KEY = Math.max(...Array.from(FIRST_KEYS, ({ length }) => length));

const FENCE = "```";
const [QUOTE, COLON, OPEN_LIST, OPEN_OBJECT] = Array.from('":[{', (letter) => letter.charCodeAt(0));
/** White space in one place, letters of a key, and letters of a fence's language that are looked past at most. */
const [MAX_SPACE, MAX_KEY, MAX_LANGUAGE] = [64, 64, 16];

/** What letters are, by their codes: those that may open and close a key, those that a value starts with. */
const QUOTES = new Set(Array.from(`"'“”‘’`, (letter) => letter.charCodeAt(0)));
const VALUES = new Set(Array.from('"{[-0123456789tfn', (letter) => letter.charCodeAt(0)));
const NO_LANGUAGE = new Set(Array.from("[{\"'`", (letter) => letter.charCodeAt(0)));

/**
 * Looks at the first key of the object that follows a `{`, a `[` or a code fence, up to `at`. It is called for every brace of an answer, so
 * it looks at a few letters only, and makes nothing. Undefined: the text ends before that is clear.
 */
export function headOf(mark: string, text: string, at: number): JsonHead | undefined {
  if (mark === "{") return headOfObject(text, at);
  let i = mark === FENCE ? pastSpace(text, pastLanguage(text, at)) : pastSpace(text, at);
  if (mark === FENCE && text.charCodeAt(i) === OPEN_LIST) i = pastSpace(text, i + 1);
  if (text.charCodeAt(i) === OPEN_OBJECT) return headOfObject(text, i + 1);
  return i < text.length ? "none" : undefined;
}

/** A guard by which a mark of JSON counts where an object follows that starts as calls do. Other marks always count. */
export const beforeCall =
  (mark: string): MarkGuard =>
  (hit, text, at) => {
    if (hit !== mark) return true;
    const head = headOf(mark, text, at);
    return head && head === "usual";
  };

function headOfObject(text: string, at: number): JsonHead | undefined {
  const from = pastSpace(text, at);
  if (from === text.length) return undefined;
  const quote = text.charCodeAt(from);
  if (!QUOTES.has(quote)) return "none";
  const end = pastKey(text, from + 1);
  if (end === text.length) return undefined;
  if (!QUOTES.has(text.charCodeAt(end))) return "none";
  if (end - from <= LONGEST_KEY + 1 && FIRST_KEYS.has(text.slice(from + 1, end))) return "usual";
  const colon = pastSpace(text, end + 1);
  if (colon === text.length) return undefined;
  if (text.charCodeAt(colon) !== COLON) return "none";
  const value = pastSpace(text, colon + 1);
  if (value === text.length) return undefined;
  return quote === QUOTE && VALUES.has(text.charCodeAt(value)) ? "other" : "none";
}

/** Where white space ends. */
function pastSpace(text: string, at: number): number {
  const end = Math.min(at + MAX_SPACE, text.length);
  let i = at;
  while (i < end && isSpace(text.charCodeAt(i))) i += 1;
  return i;
}

/** Where the letters of a key end. */
function pastKey(text: string, at: number): number {
  const end = Math.min(at + MAX_KEY, text.length);
  let i = at;
  while (i < end && text[i] !== "\\" && !QUOTES.has(text.charCodeAt(i))) i += 1;
  return i;
}

/** Where the word that a fence may open with ends. */
function pastLanguage(text: string, at: number): number {
  const end = Math.min(at + MAX_LANGUAGE, text.length);
  let i = at;
  while (i < end && !isSpace(text.charCodeAt(i)) && !NO_LANGUAGE.has(text.charCodeAt(i))) i += 1;
  return i;
}
