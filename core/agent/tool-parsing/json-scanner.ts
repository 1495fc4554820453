import { isSpace } from "./text-source.ts";

/** Deeper values are refused: no tool takes them, and they would break recursive readers. */
export const MAX_DEPTH = 200;
/** Longer numbers are refused: reading their digits takes more than linear time. */
export const MAX_NUMBER = 400;

type Expect = "value" | "value or end" | "key" | "key or end" | "colon" | "comma or end";

const [QUOTE, BACKSLASH, COMMA, COLON] = [34, 92, 44, 58];
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [91, 93, 123, 125];

/**
 * Finds the end of a JSON object or list, piece by piece: brackets and commas in strings count for nothing. It stops at the first
 * letter that cannot be JSON; numbers and bare words are left to `JSON.parse`, and line breaks in strings are let pass.
 */
export class JsonScanner {
  status: "open" | "done" | "bad" = "open";
  private expect: Expect = "value";
  /** The closing bracket of each open one. */
  private readonly closers: number[] = [];
  private inString = false;
  private escaped = false;
  private inScalar = false;
  private scalarLength = 0;

  /** @returns Position after the value, of the bad letter, or the text's length. */
  feed(text: string, from: number): number {
    let i = from;
    while (i < text.length && this.status === "open") {
      if (this.inString) {
        i = this.passString(text, i);
        continue;
      }
      const code = text.charCodeAt(i);
      if (this.inScalar) {
        if (isScalar(code) && this.scalarLength < MAX_NUMBER) {
          this.scalarLength += 1;
          i += 1;
          continue;
        }
        this.inScalar = false;
      }
      if (!isSpace(code) && !this.step(code)) return i;
      i += 1;
    }
    return i;
  }

  private passString(text: string, from: number): number {
    const { length } = text;
    let i = from;
    while (i < length) {
      if (this.escaped) {
        this.escaped = false;
        i += 1;
        continue;
      }
      let code = 0;
      while (i < length && (code = text.charCodeAt(i)) !== QUOTE && code !== BACKSLASH) i += 1;
      if (i === length) break;
      i += 1;
      if (code === QUOTE) {
        this.inString = false;
        break;
      }
      this.escaped = true;
    }
    return i;
  }

  /** @returns False: the letter cannot be. */
  private step(code: number): boolean {
    const { expect } = this;
    const wantsValue = expect === "value" || expect === "value or end";
    if (code === QUOTE && (wantsValue || expect === "key" || expect === "key or end")) {
      this.inString = true;
      this.expect = wantsValue ? "comma or end" : "colon";
    } else if (wantsValue && (code === OPEN_OBJECT || code === OPEN_LIST) && this.closers.length < MAX_DEPTH) {
      this.closers.push(code === OPEN_OBJECT ? CLOSE_OBJECT : CLOSE_LIST);
      this.expect = code === OPEN_OBJECT ? "key or end" : "value or end";
    } else if (wantsValue && this.closers.length > 0 && isScalar(code)) {
      this.inScalar = true;
      this.scalarLength = 1;
      this.expect = "comma or end";
    } else if (code === COLON && expect === "colon") {
      this.expect = "value";
    } else if (code === COMMA && expect === "comma or end") {
      this.expect = this.closers.at(-1) === CLOSE_OBJECT ? "key" : "value";
    } else if (code === this.closers.at(-1) && expect.endsWith("or end")) {
      this.closers.pop();
      this.expect = "comma or end";
      if (this.closers.length === 0) this.status = "done";
    } else {
      this.status = "bad";
      return false;
    }
    return true;
  }
}

/** Letters, digits, sign and point. */
const isScalar = (code: number): boolean =>
  (code >= 48 && code <= 57) ||
  (code >= 97 && code <= 122) ||
  (code >= 65 && code <= 90) ||
  (code >= 43 && code <= 46 && code !== COMMA);
