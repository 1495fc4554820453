import type { Extraction } from "./scored.ts";

/**
 * The last `\boxed` or, without one, `\fbox` as verl's MATH scorer cuts it: braces are counted from the command on, whatever comes
 * first, and `\boxed ` with a space anywhere gives the text after the last one up to the next `$`. One pass.
 */
export function verlBoxed(text: string): Extraction {
  const spaced = text.lastIndexOf("\\boxed ");
  if (spaced >= 0) return { answer: text.slice(spaced + 7).split("$", 1)[0]!, by: "boxed_space" };
  const at = text.lastIndexOf("\\boxed");
  const start = at >= 0 ? at : text.lastIndexOf("\\fbox");
  if (start < 0) return { answer: null, reason: "no_box" };
  const braces = bracesFrom(text, start);
  if (braces === undefined) return { answer: null, reason: "unclosed_box" };
  // verl takes off exactly `\boxed{`, and gives up on anything else.
  if (!text.startsWith("\\boxed{", start)) return { answer: null, reason: at >= 0 ? "malformed_box" : "fbox" };
  return { answer: text.slice(start + 7, braces.close), by: "boxed" };
}

/** What the first braces after `start` hold, `{` and `}` counted without regard to escapes; undefined: they never close. */
export function bracesFrom(text: string, start: number): { open: number; close: number } | undefined {
  let depth = 0;
  let open = -1;
  for (let i = start; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === OPEN) {
      if (depth++ === 0 && open < 0) open = i;
    } else if (code === CLOSE && --depth === 0) {
      return open < 0 ? undefined : { open, close: i };
    }
  }
  return undefined;
}

/**
 * The content of the last `\boxed` or `\fbox`, `\boxed 7` included; escaped braces are text. A last box that never closes is no answer:
 * the text was cut there. One pass.
 */
export function lastBoxed(text: string): Extraction {
  const boxed = text.lastIndexOf("\\boxed");
  const fbox = text.lastIndexOf("\\fbox");
  const start = Math.max(boxed, fbox);
  if (start < 0) return { answer: null, reason: "no_box" };
  const by = boxed > fbox ? "boxed" : "fbox";
  let at = start + by.length + 1;
  while (text[at] === " " || text[at] === "\n") at++;
  if (text[at] !== "{") {
    const end = text.slice(at).search(/[$\n]/);
    const answer = text.slice(at, end < 0 ? undefined : at + end).trim();
    return answer === "" ? { answer: null, reason: "empty_box" } : { answer, by };
  }
  let depth = 0;
  for (let i = at; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === BACKSLASH) i++;
    else if (code === OPEN) depth++;
    else if (code === CLOSE && --depth === 0) return { answer: text.slice(at + 1, i).trim(), by };
  }
  return { answer: null, reason: "unclosed_box" };
}

const OPEN = "{".charCodeAt(0);
const CLOSE = "}".charCodeAt(0);
const BACKSLASH = "\\".charCodeAt(0);
