import {
  add,
  divide,
  floorDivide,
  multiply,
  negate,
  ofDoubles,
  power,
  readNumber,
  remainder,
  rounding,
  subtract,
  type ExactNumber,
} from "./exact-number.ts";

/** Longer expressions and deeper nesting are refused. */
const LONGEST = 1000;
const DEEPEST = 64;

const CONSTANTS: Readonly<Record<string, number>> = { pi: Math.PI, e: Math.E };

/** Functions of one value. */
const FUNCTIONS: Readonly<Record<string, (value: ExactNumber) => ExactNumber>> = {
  abs: (value) => (value < 0 ? negate(value) : value),
  ceil: rounding(Math.ceil),
  cos: ofDoubles(Math.cos),
  exp: ofDoubles(Math.exp),
  floor: rounding(Math.floor),
  ln: ofDoubles(Math.log),
  log: ofDoubles(Math.log10),
  round: rounding(Math.round),
  sin: ofDoubles(Math.sin),
  sqrt: ofDoubles(Math.sqrt),
  tan: ofDoubles(Math.tan),
};

/** Functions of one value or more: which of two they choose. */
const CHOICES: Readonly<Record<string, (a: ExactNumber, b: ExactNumber) => ExactNumber>> = {
  max: (a, b) => (b > a ? b : a),
  min: (a, b) => (b < a ? b : a),
};

const TOKEN = /\s*(?:(\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)|([A-Za-z]+)|(\*\*|\/\/|[-+*/%^(),]))/y;

type Token =
  { readonly kind: "number"; readonly value: ExactNumber } | { readonly kind: "name" | "sign"; readonly text: string };

/**
 * The value of an arithmetic expression: numbers, `+ - * / // % ** ^`, brackets, `pi`, `e` and a few functions, with Python's precedence.
 * Integers are exact.
 * @throws Error in words for whoever wrote the expression
 */
export function evaluate(expression: string): ExactNumber {
  if (expression.length > LONGEST) throw new Error(`the expression has more than ${LONGEST} characters`);
  return new Evaluator(tokenize(expression)).whole();
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
    if (number !== undefined) tokens.push({ kind: "number", value: readNumber(number) });
    else if (name !== undefined) tokens.push({ kind: "name", text: name });
    else tokens.push({ kind: "sign", text: sign! });
  }
  return tokens;
}

class Evaluator {
  private at = 0;
  private depth = 0;

  constructor(private readonly tokens: readonly Token[]) {}

  whole(): ExactNumber {
    const value = this.sum();
    const rest = this.tokens[this.at];
    if (rest !== undefined) throw new Error(`${describe(rest)} is not expected`);
    return value;
  }

  private sum(): ExactNumber {
    let value = this.product();
    for (;;) {
      if (this.take("+")) value = add(value, this.product());
      else if (this.take("-")) value = subtract(value, this.product());
      else return value;
    }
  }

  private product(): ExactNumber {
    let value = this.signed();
    for (;;) {
      if (this.take("*")) value = multiply(value, this.signed());
      else if (this.take("/")) value = divide(value, this.signed());
      else if (this.take("//")) value = floorDivide(value, this.signed());
      else if (this.take("%")) value = remainder(value, this.signed());
      else return value;
    }
  }

  /** A minus binds looser than a power: −2² is −4. */
  private signed(): ExactNumber {
    return this.nested(() => {
      if (this.take("-")) return negate(this.signed());
      if (this.take("+")) return this.signed();
      const base = this.primary();
      return this.take("**", "^") ? power(base, this.signed()) : base;
    });
  }

  private primary(): ExactNumber {
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

  private named(name: string): ExactNumber {
    if (Object.hasOwn(CONSTANTS, name)) return CONSTANTS[name]!;
    const choose = Object.hasOwn(CHOICES, name) ? CHOICES[name]! : undefined;
    const apply = Object.hasOwn(FUNCTIONS, name) ? FUNCTIONS[name]! : undefined;
    if (choose === undefined && apply === undefined) {
      const known = [CONSTANTS, FUNCTIONS, CHOICES].flatMap(Object.keys).sort().join(", ");
      throw new Error(`"${name}" is not known; there are ${known}`);
    }
    this.expect("(");
    const values = [this.nested(() => this.sum())];
    while (this.take(",")) values.push(this.nested(() => this.sum()));
    this.expect(")");
    if (choose !== undefined) return values.reduce(choose);
    if (values.length > 1) throw new Error(`${name} takes one value`);
    return apply!(values[0]!);
  }

  private nested(read: () => ExactNumber): ExactNumber {
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

const describe = (token: Token): string => `"${token.kind === "number" ? token.value : token.text}"`;
