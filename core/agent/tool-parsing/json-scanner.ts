import { isSpace } from "./text-source.ts";

/** Deeper values are refused: no tool takes them, and they would break recursive readers. */
export const MAX_DEPTH = 200;
/** Longer numbers are refused: reading their digits takes more than linear time. */
export const MAX_NUMBER = 400;

/** What may come next; where there is a choice, the sum. */
const [VALUE, KEY, SEPARATOR, NEXT, END] = [1, 2, 4, 8, 16] as const;

const [QUOTE, BACKSLASH, COMMA, COLON, LETTER_U] = [34, 92, 44, 58, 117];
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [91, 93, 123, 125];

/**
 * Finds the end of a JSON object, list or string, piece by piece: brackets and commas in strings count for nothing. It stops at the
 * first letter that cannot be JSON. What is wrong in a string or a bare word is let pass, and noted.
 */
export class JsonScanner {
  status: "open" | "done" | "bad" = "open";
  /** `JSON.parse` takes it, as far as it was read: asking it would cost an exception for each value that it refuses. */
  isStrict = true;
  /** No number in it that `JSON.parse` may round, or that JavaScript writes otherwise. */
  isPlain = true;
  private expect: number = VALUE;
  /** Where each open bracket stands: in a value that is bad, so are those that start there. */
  readonly opens: number[] = [];
  private inString = false;
  private escaped = false;
  /** Digits that an escape still lacks. */
  private hexDue = 0;
  private inScalar = false;
  private scalarFrom = 0;

  /**
   * @param text All that was fed before, and more.
   * @returns Position after the value, of the bad letter, or the text's length.
   */
  feed(text: string, from: number): number {
    let i = from;
    while (i < text.length && this.status === "open") {
      if (this.inString) i = this.passString(text, i);
      else if (this.inScalar) i = this.passScalar(text, i);
      else {
        const code = text.charCodeAt(i);
        if (!isSpace(code)) {
          if (!this.step(text, code, i)) return i;
        } else if (code === 11 || code === 12) this.isStrict = false;
        i += 1;
      }
    }
    return i;
  }

  private passString(text: string, from: number): number {
    const { length } = text;
    let i = from;
    while (i < length) {
      if (this.escaped || this.hexDue > 0) {
        if (this.passEscape(text.charCodeAt(i))) i += 1;
        continue;
      }
      let code = 0;
      while (i < length && (code = text.charCodeAt(i)) !== QUOTE && code !== BACKSLASH) {
        if (code < 32) this.isStrict = false;
        i += 1;
      }
      if (i === length) break;
      i += 1;
      if (code === QUOTE) {
        this.inString = false;
        if (this.opens.length === 0) this.status = "done";
        break;
      }
      this.escaped = true;
    }
    return i;
  }

  /** @returns False: the escape ended too early, and the letter stands for itself. */
  private passEscape(code: number): boolean {
    if (this.escaped) {
      this.escaped = false;
      if (code === LETTER_U) this.hexDue = 4;
      else if (!isEscape(code)) this.isStrict = false;
      return true;
    }
    if (isHex(code)) {
      this.hexDue -= 1;
      return true;
    }
    this.hexDue = 0;
    this.isStrict = false;
    return false;
  }

  private passScalar(text: string, from: number): number {
    let i = from;
    while (i < text.length && i - this.scalarFrom < MAX_NUMBER && isScalar(text.charCodeAt(i))) i += 1;
    if (i === text.length) return i;
    this.inScalar = false;
    const kind = scalarKind(text.slice(this.scalarFrom, i));
    if (kind === "none") this.isStrict = false;
    else if (kind === "odd number") this.isPlain = false;
    return i;
  }

  /** @returns False: the letter cannot be. */
  private step(text: string, code: number, at: number): boolean {
    const { expect, opens } = this;
    const wantsValue = (expect & VALUE) !== 0;
    const inObject = opens.length > 0 && text.charCodeAt(opens[opens.length - 1]!) === OPEN_OBJECT;
    if (code === QUOTE && (expect & (VALUE | KEY)) !== 0) {
      this.inString = true;
      this.expect = wantsValue ? NEXT | END : SEPARATOR;
    } else if (wantsValue && (code === OPEN_OBJECT || code === OPEN_LIST) && opens.length < MAX_DEPTH) {
      opens.push(at);
      this.expect = code === OPEN_OBJECT ? KEY | END : VALUE | END;
    } else if (wantsValue && opens.length > 0 && isScalar(code)) {
      this.inScalar = true;
      this.scalarFrom = at;
      this.expect = NEXT | END;
    } else if (code === COLON && expect === SEPARATOR) {
      this.expect = VALUE;
    } else if (code === COMMA && (expect & NEXT) !== 0) {
      this.expect = inObject ? KEY : VALUE;
    } else if ((expect & END) !== 0 && code === (inObject ? CLOSE_OBJECT : CLOSE_LIST)) {
      opens.pop();
      this.expect = NEXT | END;
      if (opens.length === 0) this.status = "done";
    } else {
      this.status = "bad";
      return false;
    }
    return true;
  }
}

const SCALAR = /^(?:true|false|null|(-?(?:0|[1-9]\d*)(?:\.\d+)?([eE][-+]?\d+)?))$/;
/** Digits that every number may have without being rounded, with its sign and point. */
const PLAIN_LENGTH = 15;

/** What a bare word of JSON is; a number is odd that JavaScript may round, or writes otherwise. */
export function scalarKind(text: string): "none" | "word" | "number" | "odd number" {
  const match = SCALAR.exec(text);
  if (match === null) return "none";
  const [, number, exponent] = match;
  if (number === undefined) return "word";
  if (exponent !== undefined || number.length > PLAIN_LENGTH) return "odd number";
  const isPlain = /^-?[1-9]\d*$/.test(number) || String(Number(number)) === number;
  return isPlain ? "number" : "odd number";
}

/** Letters, digits, sign and point. */
const isScalar = (code: number): boolean =>
  (code >= 48 && code <= 57) ||
  (code >= 97 && code <= 122) ||
  (code >= 65 && code <= 90) ||
  (code >= 43 && code <= 46 && code !== COMMA);

const isHex = (code: number): boolean =>
  (code >= 48 && code <= 57) || (code >= 97 && code <= 102) || (code >= 65 && code <= 70);

/** What may stand after a backslash, but for `u`. */
const ESCAPES = new Set(Array.from('"\\/bfnrt', (letter) => letter.charCodeAt(0)));
const isEscape = (code: number): boolean => ESCAPES.has(code);
