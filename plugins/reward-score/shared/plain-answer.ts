import { bracesFrom } from "./boxed.ts";
import { withoutMarks } from "./text.ts";

/** An answer without what only dresses it. */
export interface PlainAnswer {
  text: string;
  /** It is words, not mathematics. */
  words: boolean;
}

const COMMAND = /^\\(?:text|mbox|mathrm|textrm|textit|textup|textbf|textsf|texttt|mathbf|bf|rm)\s?\{/;
const QUOTES = /^(?:"[^"]*"|“[^”]*”)$/;
/** A word of four letters or more, with others beside it or none: no product of variables looks so. */
const WORDS = /^(?=[^\n]{0,1000}\p{L}{4})[\p{L}][\p{L}\p{M} ,.'-]{0,1000}$/u;
/** Layers of dress that are taken off. */
const LAYERS = 6;

/** Takes off space, quotes, markdown's bold, a full stop at the end, and commands such as `\text{…}` that hold the whole answer. */
export function plainAnswer(answer: string): PlainAnswer {
  let text = answer;
  let words = false;
  for (let layer = 0; layer < LAYERS; layer++) {
    const before = text;
    text = withoutMarks(text);
    if (text.endsWith(".")) text = text.slice(0, -1);
    if (QUOTES.test(text)) text = text.slice(1, -1);
    const inner = heldText(text);
    if (inner !== undefined) [text, words] = [inner, true];
    if (text === before) break;
  }
  return { text, words: words || WORDS.test(text) };
}

function heldText(text: string): string | undefined {
  const braces = COMMAND.test(text) ? bracesFrom(text, 0) : undefined;
  return braces?.close === text.length - 1 ? text.slice(braces.open + 1, braces.close) : undefined;
}
