import { FUNCTIONS, tokenize, type Token } from "./tokenize.ts";

/** A number, a variable (or word), or an operation on expressions. */
export type Expression =
  | { readonly kind: "number"; readonly text: string }
  | { readonly kind: "symbol"; readonly name: string }
  | { readonly kind: "call"; readonly name: string; readonly of: readonly Expression[] };

/** What an answer is as a whole. */
export type Answer =
  | { readonly kind: "value"; readonly value: Expression; readonly unit: string }
  | { readonly kind: "sequence"; readonly open: string; readonly close: string; readonly items: readonly Answer[] }
  | { readonly kind: "matrix"; readonly rows: readonly (readonly Answer[])[] }
  | { readonly kind: "union"; readonly parts: readonly Answer[] }
  | { readonly kind: "relation"; readonly operators: readonly string[]; readonly sides: readonly Answer[] };

/** Longer answers are compared as text only. */
const LONGEST = 1000;
const DEEPEST = 40;
const RELATIONS = new Set(["=", "<", ">", "<=", ">=", "!=", "in"]);
const CONSTANTS = new Set(["pi", "infty", "emptyset", "varnothing"]);
/** Commands that mean something other than a symbol, and that nothing here understands. */
const FOREIGN = new Set(
  "sum prod int iint oint lim min max gcd lcm det sup inf frac sqrt binom begin end cup cap pm mp overline underline hat vec bar dots ldots cdots to circ pmod bmod mod underset overset setminus".split(
    " ",
  ),
);

const call = (name: string, ...of: Expression[]): Expression => ({ kind: "call", name, of });
const isInteger = (node: Expression): boolean => node.kind === "number" && !node.text.includes(".");

/** Reads an answer in LaTeX or plain text; undefined: it is not understood. Linear in its length. */
export function parseAnswer(text: string): Answer | undefined {
  if (text.length > LONGEST) return undefined;
  const tokens = tokenize(text);
  return tokens === undefined || tokens.length === 0 ? undefined : new Parser(tokens).whole();
}

class NotUnderstood extends Error {}

class Parser {
  private at = 0;
  private depth = 0;
  private bars = 0;

  constructor(private readonly tokens: Token[]) {}

  whole(): Answer | undefined {
    try {
      const answer = this.relation();
      return this.at === this.tokens.length ? answer : undefined;
    } catch (error) {
      if (error instanceof NotUnderstood) return undefined;
      throw error;
    }
  }

  private relation(): Answer {
    const sides = [this.list()];
    const operators: string[] = [];
    for (let operator = this.signAhead(); operator !== undefined && RELATIONS.has(operator);) {
      this.at++;
      operators.push(operator);
      sides.push(this.list());
      operator = this.signAhead();
    }
    return operators.length === 0 ? sides[0]! : { kind: "relation", operators, sides };
  }

  private list(): Answer {
    const items = this.items();
    return items.length === 1 ? items[0]! : { kind: "sequence", open: "", close: "", items };
  }

  private items(): Answer[] {
    const items = [this.union()];
    while (this.take(",") || this.take(";")) items.push(this.union());
    return items;
  }

  private union(): Answer {
    const parts = [this.part()];
    while (this.takeCommand("cup")) parts.push(this.part());
    return parts.length === 1 ? parts[0]! : { kind: "union", parts };
  }

  private part(): Answer {
    const token = this.tokens[this.at];
    if (token?.type === "command" && token.text === "begin") return this.matrix();
    if (token?.close !== undefined && (token.text === "\\{" || (token.listed && token.text !== "{"))) {
      return this.nested(() => {
        this.at++;
        const items = this.at === token.close ? [] : this.items();
        if (this.at !== token.close) throw new NotUnderstood();
        const close = this.tokens[this.at++]!.text;
        return { kind: "sequence", open: token.text, close, items };
      });
    }
    if (token?.type === "word") {
      // Several words are one name: an answer such as `red and blue` has none of mathematics.
      let name = "";
      while (this.tokens[this.at]?.type === "word") name += `${name && " "}${this.tokens[this.at++]!.text}`;
      return { kind: "value", value: { kind: "symbol", name }, unit: "" };
    }
    const value = this.sum();
    return { kind: "value", value, unit: this.unit() };
  }

  private unit(): string {
    if (this.take("%")) return "%";
    let unit = "";
    while (this.tokens[this.at]?.type === "word") unit += this.tokens[this.at++]!.text.replace(/[\s.]+/g, "");
    if (unit !== "" && this.take("^")) {
      const power = this.argument();
      unit += power.kind === "number" ? `^${power.text}` : "^?";
    }
    return unit.replace(/s$/, "");
  }

  private matrix(): Answer {
    this.at++;
    const rows: Answer[][] = [[]];
    return this.nested(() => {
      while (!this.takeCommand("end")) {
        rows.at(-1)!.push(this.union());
        if (this.take("\\\\")) {
          if (!this.isCommand("end")) rows.push([]);
        } else if (!this.take("&") && !this.isCommand("end")) throw new NotUnderstood();
      }
      return { kind: "matrix", rows };
    });
  }

  private sum(): Expression {
    return this.nested(() => {
      let left = this.signed();
      for (;;) {
        if (this.take("+")) left = call("add", left, this.product());
        else if (this.take("-")) left = call("add", left, call("neg", this.product()));
        else if (this.takeCommand("pm")) left = call("add", left, call("pm", this.product()));
        else if (this.takeCommand("mp")) left = call("add", left, call("neg", call("pm", this.product())));
        else return left;
      }
    });
  }

  private signed(): Expression {
    if (this.take("+")) return this.product();
    if (this.take("-")) return call("neg", this.product());
    if (this.takeCommand("pm")) return call("pm", this.product());
    return this.product();
  }

  private product(): Expression {
    let left = this.factor();
    for (;;) {
      if (this.take("*")) left = call("mul", left, this.signedFactor());
      else if (this.take("/")) left = call("div", left, this.signedFactor());
      else if (this.startsFactor()) left = this.beside(left);
      else return left;
    }
  }

  /** Two factors side by side: a product, or a mixed number such as `3\frac{1}{2}` and `3 1/2`. */
  private beside(left: Expression): Expression {
    const next = this.tokens[this.at]!;
    const right = this.factor();
    if (next.type !== "number")
      return isInteger(left) &&
        right.kind === "call" &&
        right.name === "div" &&
        next.text === "frac" &&
        right.of.every(isInteger)
        ? call("add", left, right)
        : call("mul", left, right);
    if (!isInteger(left) || !isInteger(right) || !this.take("/")) throw new NotUnderstood();
    return call("add", left, call("div", right, this.factor()));
  }

  private signedFactor(): Expression {
    return this.take("-") ? call("neg", this.factor()) : this.factor();
  }

  private factor(): Expression {
    let base = this.atom();
    for (;;) {
      if (this.take("!")) base = call("factorial", base);
      else if (this.take("^")) return call("pow", base, this.exponent());
      else return base;
    }
  }

  /** LaTeX takes one character; in plain text a number is meant whole. */
  private exponent(): Expression {
    if (this.take("-")) return call("neg", this.exponentPart());
    return this.exponentPart();
  }

  private exponentPart(): Expression {
    const token = this.tokens[this.at];
    if (token?.type !== "number") return this.argument();
    this.at++;
    return { kind: "number", text: token.text };
  }

  private atom(): Expression {
    const token = this.tokens[this.at];
    if (token === undefined) throw new NotUnderstood();
    this.at++;
    switch (token.type) {
      case "number":
        return this.signAhead() === "_" ? this.subscripted(token.text) : { kind: "number", text: token.text };
      case "symbol":
        return this.subscripted(token.text);
      case "command":
        return this.command(token.text);
      case "word":
        throw new NotUnderstood();
      case "sign":
        if (token.text === "|") return this.absolute();
        if (!["(", "[", "{"].includes(token.text) || token.close === undefined) throw new NotUnderstood();
        return this.upTo(token.close);
    }
  }

  private upTo(close: number): Expression {
    const bars = this.bars;
    this.bars = 0;
    const inner = this.sum();
    this.bars = bars;
    if (this.at !== close) throw new NotUnderstood();
    this.at++;
    return inner;
  }

  private absolute(): Expression {
    this.bars++;
    const inner = this.sum();
    this.bars--;
    if (!this.take("|")) throw new NotUnderstood();
    return call("abs", inner);
  }

  /** A name with its subscript is a name of its own; so is a number in another base. */
  private subscripted(text: string): Expression {
    if (!this.take("_")) return { kind: "symbol", name: text };
    const index = this.argument();
    if (index.kind === "call") throw new NotUnderstood();
    return { kind: "symbol", name: `${text}_${index.kind === "number" ? index.text : index.name}` };
  }

  private command(name: string): Expression {
    if (name === "frac") return call("div", this.argument(), this.argument());
    if (name === "binom") return call("binom", this.argument(), this.argument());
    if (name === "sqrt") {
      const open = this.tokens[this.at];
      if (open?.text !== "[" || open.close === undefined) return call("sqrt", this.argument());
      this.at++;
      const index = this.upTo(open.close);
      return call("pow", this.argument(), call("div", { kind: "number", text: "1" }, index));
    }
    if (FUNCTIONS.has(name)) return this.functionOf(name);
    if (CONSTANTS.has(name)) return { kind: "symbol", name: `\\${name}` };
    if (FOREIGN.has(name)) throw new NotUnderstood();
    return this.subscripted(name);
  }

  private functionOf(name: string): Expression {
    const base = name === "log" && this.take("_") ? this.argument() : undefined;
    const power = this.take("^") ? this.exponent() : undefined;
    let of: Expression;
    const open = this.tokens[this.at];
    if (open?.close !== undefined) of = this.atom();
    else {
      of = this.factor();
      while (this.startsFactor() && !FUNCTIONS.has(this.tokens[this.at]!.text)) of = call("mul", of, this.factor());
    }
    const inverse = power?.kind === "call" && power.name === "neg";
    if (inverse) return call(`arc${name}`, of);
    const value = base === undefined ? call(name, of) : call("div", call("ln", of), call("ln", base));
    return power === undefined ? value : call("pow", value, power);
  }

  /** A group in braces, or one token; of a number, its first digit. */
  private argument(): Expression {
    const token = this.tokens[this.at];
    if (token?.type === "number" && token.text.length > 1) {
      this.tokens[this.at] = { type: "number", text: token.text.slice(1) };
      return { kind: "number", text: token.text[0]! };
    }
    if (token?.type === "symbol") {
      this.at++;
      return { kind: "symbol", name: token.text };
    }
    return this.nested(() => this.atom());
  }

  private startsFactor(): boolean {
    const token = this.tokens[this.at];
    if (token === undefined || token.type === "word") return false;
    if (token.type === "sign")
      return ["(", "[", "{"].includes(token.text) ? token.close !== undefined : token.text === "|" && this.bars === 0;
    return token.type !== "command" || !["cup", "cap", "pm", "mp", "end", "begin"].includes(token.text);
  }

  private nested<T>(read: () => T): T {
    if (++this.depth > DEEPEST) throw new NotUnderstood();
    const result = read();
    this.depth--;
    return result;
  }

  private signAhead(): string | undefined {
    const token = this.tokens[this.at];
    return token?.type === "sign" ? token.text : undefined;
  }

  private take(sign: string): boolean {
    if (this.signAhead() !== sign) return false;
    this.at++;
    return true;
  }

  private isCommand(name: string): boolean {
    const token = this.tokens[this.at];
    return token?.type === "command" && token.text === name;
  }

  private takeCommand(name: string): boolean {
    if (!this.isCommand(name)) return false;
    this.at++;
    return true;
  }
}
