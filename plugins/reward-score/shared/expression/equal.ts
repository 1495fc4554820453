import { evaluate, exactValue, variablesOf, type Fraction } from "./evaluate.ts";
import type { Answer, Expression } from "./parse.ts";

/** How far two answers may be apart. */
export interface Tolerance {
  /** Relative error that numbers may have; 0: exact fractions are compared exactly. */
  readonly relative: number;
  /** A hundredth and a hundred times the right number are right too, and `%` means nothing. */
  readonly percent: boolean;
}

/** The rule that made two answers one. */
export type EqualRule = "equal_expression" | "equal_number" | "close_number" | "percent" | "sampled" | "elementwise";

/** Why two answers are one; undefined: nothing says so. The arguments' order matters for `percent` alone. */
export function equalAnswers(prediction: Answer, gold: Answer, tolerance: Tolerance): EqualRule | undefined {
  if (prediction.kind === "relation" && gold.kind !== "relation") return equalToSolved(prediction, gold, tolerance);
  if (gold.kind === "relation" && prediction.kind !== "relation") return equalToSolved(gold, prediction, tolerance);
  const all = (a: readonly Answer[], b: readonly Answer[]): EqualRule | undefined =>
    a.length === b.length && a.every((item, i) => equalAnswers(item, b[i]!, tolerance) !== undefined)
      ? "elementwise"
      : undefined;

  if (prediction.kind === "value" && gold.kind === "value") return equalValues(prediction, gold, tolerance);
  if (prediction.kind === "value" && gold.kind === "sequence") return sameBranches(prediction, gold, tolerance);
  if (prediction.kind === "sequence" && gold.kind === "value") return sameBranches(gold, prediction, tolerance);
  if (prediction.kind === "sequence" && gold.kind === "sequence") {
    if (prediction.open !== gold.open || prediction.close !== gold.close) return undefined;
    return gold.open === "\\{" ? sameSet(prediction.items, gold.items, tolerance) : all(prediction.items, gold.items);
  }
  if (prediction.kind === "union" && gold.kind === "union") return sameSet(prediction.parts, gold.parts, tolerance);
  if (prediction.kind === "matrix" && gold.kind === "matrix") {
    const same =
      prediction.rows.length === gold.rows.length && prediction.rows.every((row, i) => all(row, gold.rows[i]!));
    return same ? "elementwise" : undefined;
  }
  if (prediction.kind === "relation" && gold.kind === "relation") {
    if (sameText(prediction.operators, gold.operators) && all(prediction.sides, gold.sides)) return "elementwise";
    const flipped = [...prediction.operators].reverse().map((operator) => FLIPPED[operator] ?? operator);
    if (sameText(flipped, gold.operators) && all([...prediction.sides].reverse(), gold.sides)) return "elementwise";
    return sameEquation(prediction, gold) ? "sampled" : undefined;
  }
  return undefined;
}

const FLIPPED: Readonly<Record<string, string>> = { "<": ">", ">": "<", "<=": ">=", ">=": "<=" };
const sameText = (a: readonly string[], b: readonly string[]): boolean => a.join(" ") === b.join(" ");

type Relation = Extract<Answer, { kind: "relation" }>;
type Sequence = Extract<Answer, { kind: "sequence" }>;

/** `x = 5`, `f(x) = 5` or `x \in A` beside a bare answer. */
function equalToSolved({ operators, sides }: Relation, bare: Answer, tolerance: Tolerance): EqualRule | undefined {
  const [left, right] = sides as [Answer, Answer];
  if (operators.length !== 1 || !["=", "in"].includes(operators[0]!) || left.kind !== "value") return undefined;
  const { value } = left;
  const isName =
    value.kind === "symbol" ||
    (value.kind === "call" && value.name === "mul" && value.of.every((part) => part.kind === "symbol"));
  return isName ? equalAnswers(right, bare, tolerance) : undefined;
}

/** Each has its own partner in the other; sets are small. */
function sameSet(a: readonly Answer[], b: readonly Answer[], tolerance: Tolerance): EqualRule | undefined {
  if (a.length !== b.length || a.length > 50) return undefined;
  const left = [...b];
  for (const item of a) {
    const partner = left.findIndex((other) => equalAnswers(item, other, tolerance) !== undefined);
    if (partner < 0) return undefined;
    left.splice(partner, 1);
  }
  return "elementwise";
}

type Value = Extract<Answer, { kind: "value" }>;

/** `\\pm 3` beside `3, -3`. */
function sameBranches({ value, unit }: Value, list: Sequence, tolerance: Tolerance): EqualRule | undefined {
  if (!["", "\\{"].includes(list.open) || list.items.length !== 2 || !hasBranches(value)) return undefined;
  const branches = [false, true].map((minus): Value => ({ kind: "value", value: branchOf(value, minus), unit }));
  return sameSet(branches, list.items, tolerance);
}

const hasBranches = (node: Expression): boolean =>
  node.kind === "call" && (node.name === "pm" || node.of.some(hasBranches));

/** The expression with + or − for each ±. */
function branchOf(node: Expression, minus: boolean): Expression {
  if (node.kind !== "call") return node;
  const of = node.of.map((part) => branchOf(part, minus));
  if (node.name !== "pm") return { ...node, of };
  return minus ? { kind: "call", name: "neg", of } : of[0]!;
}

function equalValues(prediction: Value, gold: Value, { relative, percent }: Tolerance): EqualRule | undefined {
  const [given, asked] = [prediction.unit, gold.unit];
  const percentDiffers = (given === "%") !== (asked === "%");
  if (percentDiffers && !percent) return undefined;
  if (given !== "" && asked !== "" && given !== asked && !percentDiffers) return undefined;
  const [a, b] = [prediction.value, gold.value];
  const [x, y] = [exactValue(a), exactValue(b)];
  if (x !== undefined && y !== undefined) {
    if (x[0] === y[0] && x[1] === y[1]) return "equal_number";
    return relative > 0 ? closeNumbers(asNumber(x), asNumber(y), relative, percent) : undefined;
  }
  if (JSON.stringify(a) === JSON.stringify(b)) return "equal_expression";
  const names = variablesOf(b, variablesOf(a));
  if (names.size > 0) return sameFunction(a, b) ? "sampled" : undefined;
  const [[x1, x2], [y1, y2]] = [bothBranches(a), bothBranches(b)];
  const same = (one: number, other: number): boolean => close(one, other, ROUNDING);
  if ((same(x1, y1) && same(x2, y2)) || (same(x1, y2) && same(x2, y1))) return "equal_number";
  const ambiguous = x1 !== x2 || y1 !== y2;
  return relative > 0 && !ambiguous ? closeNumbers(x1, y1, relative, percent) : undefined;
}

/** The values with + and with − for ±. */
function bothBranches(node: Expression): [number, number] {
  const at = (plusMinus: 1 | -1): number => evaluate(node, { variable: () => NaN, plusMinus });
  return [at(1), at(-1)];
}

function closeNumbers(x: number, y: number, relative: number, percent: boolean): EqualRule | undefined {
  if (close(x, y, relative)) return "close_number";
  return percent && (close(x, y / 100, relative) || close(x, y * 100, relative)) ? "percent" : undefined;
}

/** The quotient as floating point; fractions of thousands of bits too. */
function asNumber([numerator, denominator]: Fraction): number {
  const quotient = Number(numerator) / Number(denominator);
  return Number.isNaN(quotient) ? Number((numerator * 10n ** 20n) / denominator) / 1e20 : quotient;
}

const ROUNDING = 1e-9;
/** An exact zero beside what rounding makes of one, sin π say. */
const ZERO = 1e-14;

function close(a: number, b: number, relative: number): boolean {
  if (a === b) return true;
  if (!Number.isFinite(a) || !Number.isFinite(b)) return false;
  if (a === 0 || b === 0) return Math.abs(a - b) < ZERO;
  return Math.abs(a - b) <= relative * Math.max(Math.abs(a), Math.abs(b));
}

const POINTS = 10;
const FEWEST = 3;

/** Values at fixed points: the first half all positive, the others of either sign. */
function* points(): Generator<{ variable: (name: string) => number; plusMinus: 1 | -1 }> {
  for (let k = 0; k < POINTS; k++) {
    const variable = (name: string): number => {
      let hash = 2166136261 ^ k;
      for (let i = 0; i < name.length; i++) hash = Math.imul(hash ^ name.charCodeAt(i), 16777619);
      hash = Math.imul(hash ^ (hash >>> 15), 2246822507) >>> 0;
      const size = 0.25 + (2 * (hash >>> 1)) / 2 ** 31;
      return k >= POINTS / 2 && (hash & 1) === 1 ? -size : size;
    };
    yield { variable, plusMinus: k % 2 === 0 ? 1 : -1 };
  }
}

/** Equal at all points where both are defined, of which there are some, and defined at the same points. */
function sameFunction(a: Expression, b: Expression): boolean {
  let seen = 0;
  for (const point of points()) {
    const [x, y] = [evaluate(a, point), evaluate(b, point)];
    if (Number.isNaN(x) && Number.isNaN(y)) continue;
    if (!close(x, y, ROUNDING)) return false;
    seen++;
  }
  return seen >= FEWEST;
}

/** Two equations say the same when left minus right of one is a constant multiple of the other's. */
function sameEquation(one: Relation, other: Relation): boolean {
  const [a, b] = [differenceOf(one), differenceOf(other)];
  if (a === undefined || b === undefined) return false;
  let ratio: number | undefined;
  let seen = 0;
  for (const point of points()) {
    const [x, y] = [evaluate(a, point), evaluate(b, point)];
    if (!Number.isFinite(x) || !Number.isFinite(y) || x === 0 || y === 0) continue;
    ratio ??= x / y;
    if (!close(x, ratio * y, ROUNDING)) return false;
    seen++;
  }
  return seen >= FEWEST;
}

function differenceOf({ operators, sides }: Relation): Expression | undefined {
  const [left, right] = sides;
  if (operators.length !== 1 || operators[0] !== "=" || left?.kind !== "value" || right?.kind !== "value")
    return undefined;
  return { kind: "call", name: "add", of: [left.value, { kind: "call", name: "neg", of: [right.value] }] };
}
