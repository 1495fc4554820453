import { MAX_DEPTH, MAX_NUMBER } from "./json-scanner.ts";
import { isSpace } from "./text-source.ts";

export type LiteralResult =
  | {
      ok: true;
      value: unknown;
      /** Position after it. */
      end: number;
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
}

/**
 * Reads one value as JSON or Python write it, and as models do: either quote, triple quotes, line breaks in strings, `True`, `None`,
 * tuples, trailing commas, bare keys, numbers with a sign or `_`. Integers beyond 2^53 are bigint. One pass, no evaluation.
 */
export function readLiteral(text: string, from = 0, { closeAtEnd = false }: LiteralOptions = {}): LiteralResult {
  const reader = new LiteralReader(text, from, closeAtEnd);
  const value = reader.value(0);
  return reader.stop === undefined
    ? { ok: true, value, end: reader.at }
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
const HEX_LENGTH = new Map([
  ["x", 2],
  ["u", 4],
  ["U", 8],
]);
const CLOSERS: Readonly<Record<string, string>> = { "{": "}", "[": "]", "(": ")" };

/** Letters of names and bare keys. */
export const isWord = (code: number): boolean =>
  (code >= 97 && code <= 122) || (code >= 65 && code <= 90) || (code >= 48 && code <= 57) || code === 95 || code > 127;

class LiteralReader {
  stop: "string" | "end" | "letter" | undefined;

  constructor(
    private readonly text: string,
    public at: number,
    private readonly closeAtEnd: boolean,
  ) {}

  value(depth: number): unknown {
    this.skipSpace();
    const letter = this.text[this.at];
    if (letter === undefined) return this.fail("end");
    if (letter === '"' || letter === "'") return this.string(letter);
    if (letter in CLOSERS) {
      if (depth >= MAX_DEPTH) return this.fail("letter");
      this.at += 1;
      return letter === "{" ? this.object(depth + 1) : this.list(CLOSERS[letter] as string, depth + 1);
    }
    const from = this.at;
    if (letter === "-" || letter === "+" || letter === "." || (letter >= "0" && letter <= "9")) return this.number();
    const word = this.word();
    if (WORDS.has(word)) return WORDS.get(word);
    this.at = from;
    return this.fail("letter");
  }

  private list(closer: string, depth: number): unknown[] {
    const items: unknown[] = [];
    while (!this.closes(closer)) {
      items.push(this.value(depth));
      if (this.stop !== undefined || !this.separates(closer)) break;
    }
    return items;
  }

  private object(depth: number): Record<string, unknown> {
    const entries: [string, unknown][] = [];
    while (!this.closes("}")) {
      const key = this.key();
      this.skipSpace();
      if (this.stop === undefined && this.text[this.at] !== ":")
        this.fail(this.at < this.text.length ? "letter" : "end");
      if (this.stop !== undefined) break;
      this.at += 1;
      entries.push([key, this.value(depth)]);
      if (this.stop !== undefined || !this.separates("}")) break;
    }
    // `Object.fromEntries` makes own properties of all keys, `__proto__` too.
    return Object.fromEntries(entries);
  }

  private key(): string {
    const letter = this.text[this.at];
    if (letter === '"' || letter === "'") return this.string(letter);
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
    return letter === undefined && this.closeAtEnd;
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

  private string(quote: string): string {
    const { text } = this;
    const triple = quote.repeat(3);
    const close = text.startsWith(triple, this.at) ? triple : quote;
    let read = "";
    let from = (this.at += close.length);
    for (;;) {
      const letter = text[this.at];
      if (letter === undefined) {
        this.fail("string");
        return read;
      }
      if (letter === quote && text.startsWith(close, this.at)) {
        read += text.slice(from, this.at);
        this.at += close.length;
        return read;
      }
      if (letter !== "\\") {
        this.at += 1;
        continue;
      }
      read += text.slice(from, this.at) + this.escape();
      from = this.at;
    }
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
    this.at += 1 + letter.length;
    if (letter === '"' || letter === "'" || letter === "\\" || letter === "/") return letter;
    return ESCAPES.get(letter) ?? `\\${letter}`;
  }

  private number(): unknown {
    const from = this.at;
    while (this.at - from < MAX_NUMBER && /^[-+.\w]$/.test(this.text[this.at] ?? "")) this.at += 1;
    const lexeme = this.text.slice(from, this.at);
    const digits = lexeme.replace(/_/g, "").replace(/^\+/, "");
    if (/^-?\d+$/.test(digits)) {
      const value = Number(digits);
      return Number.isSafeInteger(value) ? value : BigInt(digits);
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
    while (this.at < this.text.length && isSpace(this.text.charCodeAt(this.at))) this.at += 1;
  }

  private fail(stop: "string" | "end" | "letter"): undefined {
    this.stop ??= stop;
    return undefined;
  }
}
