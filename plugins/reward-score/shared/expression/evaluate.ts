import type { Expression } from "./parse.ts";

/** A fraction in lowest terms, its denominator positive. */
export type Fraction = readonly [numerator: bigint, denominator: bigint];

/** Numbers beyond this are compared as floating point. */
const MOST_BITS = 4096;
const LARGEST_EXPONENT = 4096;

/** The exact value of an expression of decimals, + − × ÷ and whole powers; undefined: it has none, or too large a one. */
export function exactValue(node: Expression): Fraction | undefined {
  if (node.kind === "number") return decimal(node.text);
  if (node.kind === "symbol") return undefined;
  const values: Fraction[] = [];
  for (const part of node.of) {
    const value = exactValue(part);
    if (value === undefined) return undefined;
    values.push(value);
  }
  const [[a, b], [c, d] = [1n, 1n]] = values as [Fraction, Fraction?];
  switch (node.name) {
    case "add":
      return reduced(a * d + c * b, b * d);
    case "neg":
      return [-a, b];
    case "mul":
      return reduced(a * c, b * d);
    case "div":
      return c === 0n ? undefined : reduced(a * d, b * c);
    case "pow":
      return d === 1n ? power(a, b, c) : undefined;
    default:
      return undefined;
  }
}

function power(a: bigint, b: bigint, exponent: bigint): Fraction | undefined {
  const size = exponent < 0n ? -exponent : exponent;
  if (size > LARGEST_EXPONENT || Number(size) * Math.max(bits(a), bits(b)) > MOST_BITS) return undefined;
  if (exponent >= 0n) return reduced(a ** size, b ** size);
  return a === 0n ? undefined : reduced(b ** size, a ** size);
}

function decimal(text: string): Fraction {
  const [whole, part = ""] = text.split(".");
  return reduced(BigInt(`${whole}${part}`), 10n ** BigInt(part.length))!;
}

function reduced(numerator: bigint, denominator: bigint): Fraction | undefined {
  if (bits(numerator) > MOST_BITS || bits(denominator) > MOST_BITS) return undefined;
  let [a, b] = [numerator < 0n ? -numerator : numerator, denominator < 0n ? -denominator : denominator];
  while (b !== 0n) [a, b] = [b, a % b];
  const by = denominator < 0n ? -a : a;
  return [numerator / by, denominator / by];
}

const bits = (value: bigint): number => value.toString(16).length * 4;

/** Where an expression is evaluated: a value for each variable, and which branch ± takes. */
export interface Point {
  readonly variable: (name: string) => number;
  readonly plusMinus: 1 | -1;
}

/** The value at a point in floating point; NaN where it is not defined, not known or too large. Only what is written ∞ is infinite. */
export function evaluate(node: Expression, point: Point): number {
  if (node.kind === "number") return finite(Number(node.text));
  if (node.kind === "symbol") return CONSTANTS[node.name] ?? point.variable(node.name);
  const [a = NaN, b = 0] = node.of.map((part) => evaluate(part, point));
  const value = node.name === "pm" ? point.plusMinus * a : (OPERATIONS[node.name]?.(a, b) ?? NaN);
  return Number.isFinite(a) && Number.isFinite(b) ? finite(value) : value;
}

const finite = (value: number): number => (Number.isFinite(value) ? value : NaN);

/** Adds the names of the variables of an expression to `names`. */
export function variablesOf(node: Expression, names: Set<string> = new Set()): Set<string> {
  if (node.kind === "symbol" && !(node.name in CONSTANTS)) names.add(node.name);
  else if (node.kind === "call") for (const part of node.of) variablesOf(part, names);
  return names;
}

const CONSTANTS: Readonly<Record<string, number>> = { "\\pi": Math.PI, "\\infty": Infinity, e: Math.E };

const OPERATIONS: Readonly<Record<string, (a: number, b: number) => number>> = {
  add: (a, b) => a + b,
  neg: (a) => -a,
  mul: (a, b) => a * b,
  div: (a, b) => a / b,
  pow: (a, b) => realPower(a, b),
  sqrt: Math.sqrt,
  abs: Math.abs,
  factorial: (a) => (Number.isInteger(a) && a >= 0 && a <= 170 ? falling(a, a) : NaN),
  binom: (n, k) =>
    Number.isInteger(n) && Number.isInteger(k) && k >= 0 && k <= 170 && n >= k ? falling(n, k) / falling(k, k) : NaN,
  sin: Math.sin,
  cos: Math.cos,
  tan: Math.tan,
  cot: (a) => 1 / Math.tan(a),
  sec: (a) => 1 / Math.cos(a),
  csc: (a) => 1 / Math.sin(a),
  arcsin: Math.asin,
  arccos: Math.acos,
  arctan: Math.atan,
  sinh: Math.sinh,
  cosh: Math.cosh,
  tanh: Math.tanh,
  ln: Math.log,
  // As in mathematics books; log with a base is written with ln.
  log: Math.log,
  exp: Math.exp,
};

/** Odd roots of negative numbers are real, as answers mean them. */
function realPower(base: number, exponent: number): number {
  const odd = 1 / exponent;
  if (base < 0 && Math.abs(exponent) < 1 && Math.abs(odd - Math.round(odd)) < 1e-12 && Math.round(odd) % 2 !== 0)
    return -((-base) ** exponent);
  return base ** exponent;
}

/** n (n−1) … (n−k+1) */
function falling(n: number, k: number): number {
  let product = 1;
  for (let i = 0; i < k; i++) product *= n - i;
  return product;
}
