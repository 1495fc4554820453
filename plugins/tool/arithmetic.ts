/** Longer expressions and deeper nesting are refused. */
const LONGEST = 1000;
const DEEPEST = 64;
/** What a double holds for sure; the rest of its digits is rounding. */
const DIGITS = 15;

const CONSTANTS: Readonly<Record<string, number>> = { pi: Math.PI, e: Math.E };

const FUNCTIONS: Readonly<Record<string, (...values: number[]) => number>> = {
  abs: Math.abs,
  ceil: Math.ceil,
  cos: Math.cos,
  exp: Math.exp,
  floor: Math.floor,
  ln: Math.log,
  log: Math.log10,
  max: Math.max,
  min: Math.min,
  round: Math.round,
  sin: Math.sin,
  sqrt: Math.sqrt,
  tan: Math.tan,
};

const TOKEN = /\s*(?:(\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)|([A-Za-z]+)|(\*\*|\/\/|[-+*/%^(),]))/y;

type Token =
  { readonly kind: "number"; readonly value: number } | { readonly kind: "name" | "sign"; readonly text: string };

/**
 * The value of an arithmetic expression: numbers, `+ - * / // % ** ^`, brackets, `pi`, `e` and a few functions, with Python's precedence.
 * @throws Error in words for whoever wrote the expression
 */
export function evaluate(expression: string): number {
  if (expression.length > LONGEST) throw new Error(`the expression has more than ${LONGEST} characters`);
  const value = new Evaluator(tokenize(expression)).whole();
  if (Number.isNaN(value)) throw new Error("the expression has no value");
  if (!Number.isFinite(value)) throw new Error("the value is infinite or too large");
  return value;
}

/** A value as people write it: `0.3` for 0.1 + 0.2. */
export function formatNumber(value: number): string {
  return String(Number.isSafeInteger(value) ? value : Number(value.toPrecision(DIGITS)));
}

function tokenize(text: string): Token[] {
  const tokens: Token[] = [];
  const end = text.trimEnd().length;
  for (let at = 0; at < end; at = TOKEN.lastIndex) {
    TOKEN.lastIndex = at;
    const match = TOKEN.exec(text);
    if (match === null)
      throw new Error(`"${text[at]!.trim() || text.slice(at).trimStart()[0]}" is no part of an expression`);
    const [, number, name, sign] = match;
    if (number !== undefined) tokens.push({ kind: "number", value: Number(number) });
    else if (name !== undefined) tokens.push({ kind: "name", text: name });
    else tokens.push({ kind: "sign", text: sign! });
  }
  return tokens;
}

class Evaluator {
  private at = 0;
  private depth = 0;

  constructor(private readonly tokens: readonly Token[]) {}

  whole(): number {
    const value = this.sum();
    const rest = this.tokens[this.at];
    if (rest !== undefined) throw new Error(`${describe(rest)} is not expected`);
    return value;
  }

  private sum(): number {
    let value = this.product();
    for (;;) {
      if (this.take("+")) value += this.product();
      else if (this.take("-")) value -= this.product();
      else return value;
    }
  }

  private product(): number {
    let value = this.signed();
    for (;;) {
      if (this.take("*")) value *= this.signed();
      else if (this.take("/")) value /= this.divisor();
      else if (this.take("//")) value = Math.floor(value / this.divisor());
      else if (this.take("%")) value = remainder(value, this.divisor());
      else return value;
    }
  }

  private divisor(): number {
    const value = this.signed();
    if (value === 0) throw new Error("division by zero");
    return value;
  }

  /** A minus binds looser than a power: −2² is −4. */
  private signed(): number {
    return this.nested(() => {
      if (this.take("-")) return -this.signed();
      if (this.take("+")) return this.signed();
      const base = this.primary();
      return this.take("**", "^") ? base ** this.signed() : base;
    });
  }

  private primary(): number {
    const token = this.tokens[this.at];
    if (token === undefined) throw new Error("the expression ends too early");
    this.at += 1;
    if (token.kind === "number") return token.value;
    if (token.kind === "name") return this.named(token.text);
    if (token.text !== "(") throw new Error(`${describe(token)} is not expected`);
    const value = this.nested(() => this.sum());
    this.expect(")");
    return value;
  }

  private named(name: string): number {
    if (Object.hasOwn(CONSTANTS, name)) return CONSTANTS[name]!;
    if (!Object.hasOwn(FUNCTIONS, name)) {
      const known = [...Object.keys(CONSTANTS), ...Object.keys(FUNCTIONS)].sort().join(", ");
      throw new Error(`"${name}" is not known; there are ${known}`);
    }
    this.expect("(");
    const values = [this.nested(() => this.sum())];
    while (this.take(",")) values.push(this.nested(() => this.sum()));
    this.expect(")");
    const many = name === "max" || name === "min";
    if (!many && values.length > 1) throw new Error(`${name} takes one value`);
    return FUNCTIONS[name]!(...values);
  }

  private nested(read: () => number): number {
    if (++this.depth > DEEPEST) throw new Error("the expression is nested too deeply");
    const value = read();
    this.depth -= 1;
    return value;
  }

  private take(...texts: readonly string[]): boolean {
    const token = this.tokens[this.at];
    if (token?.kind !== "sign" || !texts.includes(token.text)) return false;
    this.at += 1;
    return true;
  }

  private expect(text: string): void {
    if (this.take(text)) return;
    const token = this.tokens[this.at];
    throw new Error(`"${text}" is missing${token === undefined ? " at the end" : ` before ${describe(token)}`}`);
  }
}

/** With the sign of the divisor, as in Python. */
const remainder = (value: number, divisor: number): number => value - divisor * Math.floor(value / divisor);

const describe = (token: Token): string => `"${token.kind === "number" ? token.value : token.text}"`;
