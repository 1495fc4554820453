/** A value of the override grammar: what YAML calls a scalar, list or map. */
export type OverrideValue = string | number | boolean | null | OverrideValue[] | { [key: string]: OverrideValue };

/** One command-line override, parsed. */
export interface Override {
  /** `a=1` must exist, `+a=1` adds, `++a=1` either, `~a` removes. */
  readonly op: "set" | "add" | "force" | "remove";
  readonly key: string;
  /** Absent for `~a`; `~a=1` removes only that value. */
  readonly value?: OverrideValue;
  /** The value's own part of the text, for a number that stands alone. */
  readonly written?: string;
  /** The text as given. */
  readonly text: string;
}

/** Says what is wrong at which character. */
export class OverrideSyntaxError extends Error {
  constructor(
    message: string,
    /** 1-based. */
    readonly column: number,
    readonly hint?: string,
  ) {
    super(message);
  }
}

const OPS = [
  ["++", "force"],
  ["+", "add"],
  ["~", "remove"],
  ["", "set"],
] as const;

const KEY = /^[A-Za-z0-9_$-]+(?:[./@][A-Za-z0-9_$-]+|\[\d+\])*$/;
const INT = /^[+-]?(?:0|[1-9](?:_?\d)*)$/;
const FLOAT =
  /^[+-]?(?:(?:0|[1-9](?:_?\d)*)\.(?:\d(?:_?\d)*)?|\.\d(?:_?\d)*|0|[1-9](?:_?\d)*)(?:[eE][+-]?\d(?:_?\d)*)?$/;
const MAX_DEPTH = 100;

/** Parses one override by Hydra's grammar. @throws OverrideSyntaxError */
export function parseOverride(text: string): Override {
  const [prefix, op] = OPS.find(([prefix]) => text.startsWith(prefix))!;
  const equals = text.indexOf("=");
  const key = text.slice(prefix.length, equals < 0 ? undefined : equals).trim();
  if (!KEY.test(key)) {
    const hint = "Write key=value, +key=value, ++key=value or ~key, for example algorithm.adv_estimator=grpo.";
    throw new OverrideSyntaxError(`"${text}" does not start with a config key.`, prefix.length + 1, hint);
  }
  if (equals < 0) {
    if (op === "remove") return { op, key, text };
    throw new OverrideSyntaxError(
      `"${text}" gives no value.`,
      text.length + 1,
      `Write ${text}=value, or ~${key} to remove the key.`,
    );
  }
  const value = new ValueParser(text, equals + 1).whole();
  return { op, key, value, ...(typeof value === "number" ? { written: text.slice(equals + 1).trim() } : {}), text };
}

/** Parses a value alone. @throws OverrideSyntaxError */
export const parseValue = (text: string): OverrideValue => new ValueParser(text, 0).whole();

/** What an unquoted word means: null, a boolean, a number, or itself. */
export function scalarOf(word: string): string | number | boolean | null {
  const lower = word.toLowerCase();
  if (lower === "null") return null;
  if (lower === "true" || lower === "false") return lower === "true";
  if (INT.test(word) || FLOAT.test(word)) return Number(word.replaceAll("_", ""));
  const special = /^([+-]?)(inf|nan)$/.exec(lower);
  if (special) return special[2] === "nan" ? NaN : special[1] === "-" ? -Infinity : Infinity;
  return word;
}

/** Recursive descent over the value of an override; `position` is an index into the whole text, so that errors point at it. */
class ValueParser {
  constructor(
    private readonly text: string,
    private position: number,
  ) {}

  whole(): OverrideValue {
    this.space();
    if (this.position === this.text.length) return "";
    const value = this.element(0);
    this.space();
    const rest = this.text[this.position];
    if (rest === ",") {
      this.fail(
        "A bare comma would start a sweep over several runs, which there is not.",
        "For a list, write [a,b]; for text, quote it.",
      );
    }
    if (rest !== undefined)
      this.fail(`Unexpected ${quote(rest)} after the value.`, "Quote text with special characters: 'a=b' or \"[x\".");
    return value;
  }

  private element(depth: number): OverrideValue {
    if (depth > MAX_DEPTH) this.fail(`The value is nested deeper than ${MAX_DEPTH} levels.`);
    const next = this.text[this.position];
    if (next === "[") return this.list(depth);
    if (next === "{") return this.map(depth);
    if (next === "'" || next === '"') return this.quoted(next);
    return this.word();
  }

  private list(depth: number): OverrideValue[] {
    const items: OverrideValue[] = [];
    this.sequence("[", "]", () => items.push(this.element(depth + 1)));
    return items;
  }

  private map(depth: number): { [key: string]: OverrideValue } {
    const entries: [string, OverrideValue][] = [];
    this.sequence("{", "}", () => {
      const next = this.text[this.position];
      const key = next === "'" || next === '"' ? this.quoted(next) : this.unquoted(":").trimmed;
      this.space();
      if (this.text[this.position] !== ":") this.fail(`Expected ":" after the key ${quote(key)}.`);
      this.position++;
      this.space();
      entries.push([key, this.element(depth + 1)]);
    });
    return Object.fromEntries(entries);
  }

  /** Comma-separated parts between brackets. */
  private sequence(open: string, close: string, part: () => void): void {
    const start = this.position++;
    this.space();
    if (this.text[this.position] === close) return void this.position++;
    for (;;) {
      part();
      this.space();
      const next = this.text[this.position];
      if (next === undefined)
        this.fail(`${quote(open)} is not closed.`, `Close it with "${close}", or quote the text.`, start);
      if (next !== "," && next !== close) this.fail(`Expected "," or "${close}", found ${quote(next)}.`);
      this.position++;
      if (next === close) return;
      this.space();
    }
  }

  /** Only backslashes before a quote are special: each pair is one, and an odd one escapes the quote. */
  private quoted(mark: string): string {
    const start = this.position++;
    let value = "";
    while (this.position < this.text.length) {
      const from = this.position;
      while (this.text[this.position] === "\\") this.position++;
      const slashes = this.position - from;
      const next = this.text[this.position];
      if (next === undefined) break;
      this.position++;
      if (next !== mark) {
        value += "\\".repeat(slashes) + next;
        continue;
      }
      value += "\\".repeat(slashes >> 1);
      if (slashes % 2 === 0) return value;
      value += mark;
    }
    return this.fail(
      `The quote ${mark} is not closed.`,
      `Close it; inside, write \\${mark} for the quote itself and \\\\ for a last backslash.`,
      start,
    );
  }

  private word(): OverrideValue {
    const { trimmed, plain } = this.unquoted("");
    return plain ? scalarOf(trimmed) : trimmed;
  }

  /** Text up to a structural character or one of `stops`; a backslash escapes those, `${…}` passes whole. */
  private unquoted(stops: string): { trimmed: string; plain: boolean } {
    const start = this.position;
    let value = "";
    let kept = 0;
    let plain = true;
    scan: while (this.position < this.text.length) {
      const next = this.text[this.position]!;
      const after = this.text[this.position + 1];
      if (next === "\\" && after !== undefined && "\\()[]{}:=, \t".includes(after)) {
        value += after;
        this.position += 2;
        kept = value.length;
        plain = false;
        continue;
      }
      if (next === "$" && after === "{") {
        value += this.interpolation();
        kept = value.length;
        continue;
      }
      if (",]})".includes(next) || stops.includes(next)) break scan;
      if ("[{('\"=".includes(next)) this.unexpected(next, value);
      value += next;
      this.position++;
    }
    const trimmed = value.slice(0, kept) + value.slice(kept).trimEnd();
    if (trimmed === "")
      this.fail(this.position === start ? "A value is missing here." : "Only spaces here.", "Write '' for empty text.");
    return { trimmed, plain };
  }

  private unexpected(next: string, before: string): never {
    const hints: Record<string, string> = {
      "=": "Quote the text, or write \\= for the sign itself.",
      "(": `Functions such as ${before || "f"}(…) are not supported; quote the text if it is one.`,
    };
    return this.fail(
      `Unexpected ${quote(next)} inside unquoted text.`,
      hints[next] ?? `Quote the text, or write \\${next} for the character itself.`,
    );
  }

  private interpolation(): string {
    const start = this.position;
    let open = 0;
    for (; this.position < this.text.length; this.position++) {
      if (this.text.startsWith("${", this.position)) open++;
      if (this.text[this.position] === "}" && --open === 0) return this.text.slice(start, ++this.position);
    }
    return this.fail("${ is not closed.", "Close it with }.", start);
  }

  private space(): void {
    while (this.text[this.position] === " " || this.text[this.position] === "\t") this.position++;
  }

  private fail(message: string, hint?: string, at = this.position): never {
    throw new OverrideSyntaxError(message, at + 1, hint);
  }
}

const quote = (text: string): string => `"${text}"`;

/** A value in the override grammar; parsing it gives the value back. */
export function printValue(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(printValue).join(",")}]`;
  if (typeof value === "object" && value !== null) {
    return `{${Object.entries(value)
      .map(([key, child]) => `${printText(key)}:${printValue(child)}`)
      .join(",")}}`;
  }
  if (typeof value === "string") return printText(value);
  if (typeof value === "number" && !Number.isFinite(value))
    return Number.isNaN(value) ? "nan" : value > 0 ? "inf" : "-inf";
  return Object.is(value, -0) ? "-0.0" : String(value);
}

/** Plain where that is safe, else in single quotes. */
function printText(text: string): string {
  if (/^[A-Za-z_~./-][\w~./-]*$/.test(text) && scalarOf(text) === text) return text;
  const escaped = text.replace(/\\+|'/g, (run, at: number) => {
    if (run === "'") return "\\'";
    const end = at + run.length;
    return end === text.length || text[end] === "'" ? run + run : run;
  });
  return `'${escaped}'`;
}
