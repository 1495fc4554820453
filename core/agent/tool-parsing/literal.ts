import { MAX_DEPTH, MAX_NUMBER } from "./json-scanner.ts";
import { isSpace } from "./text-source.ts";
import { noteNumber } from "./written-numbers.ts";

export type LiteralResult =
  | {
      ok: true;
      value: unknown;
      /** Position after it. */
      end: number;
      /** How a number was written, where JavaScript writes it otherwise. */
      written?: string | undefined;
    }
  | {
      ok: false;
      /** What stopped it: the text's end inside a string, the end elsewhere, or a letter that cannot be. */
      stop: "string" | "end" | "letter";
      at: number;
    };

export interface LiteralOptions {
  /** Brackets that are open at the end of the text count as closed. Default: false. */
  closeAtEnd?: boolean;
  /**
   * Python alone: raw strings, comments, escapes of its own, and strings side by side are one. JSON that lost a comma would be read
   * wrongly. Default: false.
   */
  python?: boolean;
}

/**
 * Reads one value as JSON or Python write it, and as models do: either quote, triple quotes, typographic ones, line breaks in strings,
 * `True`, `None`, tuples, trailing commas, bare keys, numbers with a sign, `_` or another base. Integers beyond 2^53 are bigint. One pass,
 * no evaluation.
 */
export function readLiteral(text: string, from = 0, options: LiteralOptions = {}): LiteralResult {
  const reader = new LiteralReader(text, from, options);
  const value = reader.value(0);
  return reader.stop === undefined
    ? { ok: true, value, end: reader.at, written: reader.written }
    : { ok: false, stop: reader.stop, at: reader.at };
}

const WORDS = new Map<string, unknown>([
  ["true", true],
  ["True", true],
  ["false", false],
  ["False", false],
  ["null", null],
  ["None", null],
]);
const ESCAPES = new Map([
  ["n", "\n"],
  ["t", "\t"],
  ["r", "\r"],
  ["b", "\b"],
  ["f", "\f"],
  ["0", "\0"],
  ["\n", ""],
]);
const PYTHON_ESCAPES = new Map([...ESCAPES, ["a", "\x07"], ["v", "\v"]]);
const HEX_LENGTH = new Map([
  ["x", 2],
  ["u", 4],
  ["U", 8],
]);
/** Opening quotes, and those that close each. Python takes the plain ones only. */
const QUOTES: Readonly<Record<string, string>> = { '"': '"', "'": "'", "“": "“”", "”": "“”", "‘": "’" };
const isPlainQuote = (letter: string | undefined): boolean => letter === '"' || letter === "'";
const CLOSERS: Readonly<Record<string, string>> = { "{": "}", "[": "]", "(": ")" };

const BACKSLASH = 92;

/** Letters of names and bare keys. */
export const isWord = (code: number): boolean =>
  (code >= 97 && code <= 122) || (code >= 65 && code <= 90) || (code >= 48 && code <= 57) || code === 95 || code > 127;

/** Letters of a number, whatever its base. */
const isNumeral = (code: number): boolean => (code <= 127 && isWord(code)) || code === 43 || code === 45 || code === 46;

function setOwn(object: Record<string, unknown>, key: string, value: unknown): void {
  // The one key that an assignment would not make a property.
  if (key === "__proto__")
    Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true });
  else object[key] = value;
}

class LiteralReader {
  stop: "string" | "end" | "letter" | undefined;
  /** Of the number that was read last, until its holder notes it. */
  written: string | undefined;

  constructor(
    private readonly text: string,
    public at: number,
    private readonly options: LiteralOptions,
  ) {}

  value(depth: number): unknown {
    this.skipSpace();
    const letter = this.text[this.at];
    if (letter === undefined) return this.fail("end");
    if (this.seesString()) return this.strings();
    if (letter in CLOSERS) {
      if (depth >= MAX_DEPTH) return this.fail("letter");
      this.at += 1;
      if (letter === "(") return this.parentheses(depth + 1);
      return letter === "{" ? this.object(depth + 1) : this.list(CLOSERS[letter] as string, depth + 1);
    }
    const from = this.at;
    if (letter === "-" || letter === "+" || letter === "." || (letter >= "0" && letter <= "9")) return this.number();
    const word = this.word();
    if (WORDS.has(word)) return WORDS.get(word);
    this.at = from;
    return this.fail("letter");
  }

  /** A tuple, or one value: commas make a tuple, the brackets alone do not. */
  private parentheses(depth: number): unknown {
    if (this.closes(")")) return [];
    const value = this.value(depth);
    if (this.stop !== undefined || !this.separates(")")) return value;
    const items = [value];
    this.note(items, 0);
    return this.list(")", depth, items);
  }

  private list(closer: string, depth: number, items: unknown[] = []): unknown[] {
    while (!this.closes(closer)) {
      items.push(this.value(depth));
      this.note(items, items.length - 1);
      if (this.stop !== undefined || !this.separates(closer)) break;
    }
    return items;
  }

  private object(depth: number): Record<string, unknown> {
    const read: Record<string, unknown> = {};
    while (!this.closes("}")) {
      const key = this.key();
      this.skipSpace();
      if (this.stop === undefined && this.text[this.at] !== ":")
        this.fail(this.at < this.text.length ? "letter" : "end");
      if (this.stop !== undefined) break;
      this.at += 1;
      setOwn(read, key, this.value(depth));
      this.note(read, key);
      if (this.stop !== undefined || !this.separates("}")) break;
    }
    return read;
  }

  private note(holder: object, key: string | number): void {
    noteNumber(holder, String(key), this.written);
    this.written = undefined;
  }

  private key(): string {
    const letter = this.text[this.at];
    if (this.seesString()) return this.strings();
    const word = this.word();
    if (word === "") this.fail(letter === undefined ? "end" : "letter");
    return word;
  }

  /** Reads the closing bracket. */
  private closes(closer: string): boolean {
    this.skipSpace();
    const letter = this.text[this.at];
    if (letter === closer) {
      this.at += 1;
      return true;
    }
    return letter === undefined && this.options.closeAtEnd === true;
  }

  /** Reads a comma. False: the bracket is closed next, and is read, or an error is noted. */
  private separates(closer: string): boolean {
    this.skipSpace();
    if (this.text[this.at] === ",") {
      this.at += 1;
      return true;
    }
    if (!this.closes(closer)) this.fail(this.at < this.text.length ? "letter" : "end");
    return false;
  }

  private seesString(): boolean {
    const letter = this.text[this.at] ?? "";
    if (!this.options.python) return letter in QUOTES;
    return isPlainQuote(letter) || ("rRuU".includes(letter) && isPlainQuote(this.text[this.at + 1]));
  }

  /** Reads a string, in Python all that stand side by side. */
  private strings(): string {
    let read = this.string();
    while (this.options.python && this.stop === undefined) {
      const end = this.at;
      this.skipSpace();
      if (!this.seesString()) {
        this.at = end;
        break;
      }
      read += this.string();
    }
    return read;
  }

  private string(): string {
    const { text } = this;
    const raw = "rR".includes(text[this.at]!);
    if (!(text[this.at]! in QUOTES)) this.at += 1;
    const quote = text[this.at]!;
    const triple = quote.repeat(3);
    const close = isPlainQuote(quote) && text.startsWith(triple, this.at) ? triple : QUOTES[quote]!;
    const length = close === triple ? 3 : 1;
    const [first, last] = [close.charCodeAt(0), close.charCodeAt(close.length - 1)];
    let read = "";
    let from = (this.at += length);
    for (;;) {
      this.passPlain(first, last);
      const letter = text[this.at];
      if (letter === undefined) {
        this.fail("string");
        return read;
      }
      if (length === 3 ? letter === quote && text.startsWith(close, this.at) : close.includes(letter)) {
        read += text.slice(from, this.at);
        this.at += length;
        return read;
      }
      if (letter !== "\\") {
        this.at += 1;
        continue;
      }
      if (raw) {
        this.at = Math.min(this.at + 2, text.length);
        continue;
      }
      read += text.slice(from, this.at) + this.escape();
      from = this.at;
    }
  }

  /** Goes to the next backslash, or to one of two letters that may close a string. */
  private passPlain(first: number, last: number): void {
    const { text } = this;
    let i = this.at;
    for (; i < text.length; i++) {
      const code = text.charCodeAt(i);
      if (code === first || code === last || code === BACKSLASH) break;
    }
    this.at = i;
  }

  /** Reads an escape; one that means nothing stays as it is, as in Python. */
  private escape(): string {
    const letter = this.text[this.at + 1] ?? "";
    const digits = HEX_LENGTH.get(letter);
    if (digits !== undefined) {
      const hex = this.text.slice(this.at + 2, this.at + 2 + digits);
      const code = /^[0-9a-fA-F]+$/.test(hex) && hex.length === digits ? parseInt(hex, 16) : Infinity;
      if (code <= 0x10ffff) {
        this.at += 2 + digits;
        return digits === 8 ? String.fromCodePoint(code) : String.fromCharCode(code);
      }
    }
    const octal = this.options.python ? /^[0-7]{1,3}/.exec(this.text.slice(this.at + 1, this.at + 4))?.[0] : undefined;
    if (octal !== undefined) {
      this.at += 1 + octal.length;
      return String.fromCharCode(parseInt(octal, 8));
    }
    // A letter by its name: nothing here knows them, and another text would be what was not meant.
    if (this.options.python && this.text.startsWith("N{", this.at + 1)) this.fail("letter");
    this.at += 1 + letter.length;
    if (letter === '"' || letter === "'" || letter === "\\" || letter === "/") return letter;
    return (this.options.python ? PYTHON_ESCAPES : ESCAPES).get(letter) ?? `\\${letter}`;
  }

  private number(): unknown {
    const from = this.at;
    const value = this.numeral();
    const text = this.text.slice(from, this.at);
    if (this.stop === undefined && String(value) !== text) this.written = text;
    return value;
  }

  private numeral(): unknown {
    const from = this.at;
    while (this.at - from < MAX_NUMBER && isNumeral(this.text.charCodeAt(this.at))) this.at += 1;
    const lexeme = this.text.slice(from, this.at);
    if (/^(?:0|-?[1-9]\d{0,14})$/.test(lexeme)) return Number(lexeme);
    const digits = lexeme.replace(/_/g, "").replace(/^\+/, "");
    const sign = digits.startsWith("-") ? "-" : "";
    if (/^-?(?:\d+|0[xX][\da-fA-F]+|0[oO][0-7]+|0[bB][01]+)$/.test(digits)) {
      // With a sign, JavaScript reads the decimal base only.
      const size = BigInt(digits.slice(sign.length));
      const value = sign === "" ? size : -size;
      return Number.isSafeInteger(Number(value)) ? Number(value) : value;
    }
    const value = Number(digits);
    if (/^-?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?$/.test(digits) && Number.isFinite(value)) return value;
    this.at = from;
    return this.fail("letter");
  }

  private word(): string {
    const from = this.at;
    while (this.at < this.text.length && isWord(this.text.charCodeAt(this.at))) this.at += 1;
    return this.text.slice(from, this.at);
  }

  private skipSpace(): void {
    this.passSpace();
    while (this.options.python && this.text[this.at] === "#") {
      const end = this.text.indexOf("\n", this.at);
      this.at = end < 0 ? this.text.length : end;
      this.passSpace();
    }
  }

  private passSpace(): void {
    while (this.at < this.text.length && isSpace(this.text.charCodeAt(this.at))) this.at += 1;
  }

  private fail(stop: "string" | "end" | "letter"): undefined {
    this.stop ??= stop;
    return undefined;
  }
}
