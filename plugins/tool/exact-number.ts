/**
 * A number as the calculator has it: integers are exact, as bigint, and all others are doubles. Operations give integers exactly where
 * the result is one by their kind (`+ - * // % **`), or where a division leaves nothing.
 */
export type ExactNumber = bigint | number;

/** Digits of an integer; larger ones are refused, so that no expression takes long. */
const MOST_DIGITS = 1000;
const TOO_LARGE = 10n ** BigInt(MOST_DIGITS);
const MOST_BITS = TOO_LARGE.toString(2).length;
/** What a double holds for sure; the rest of its digits is rounding. */
const DOUBLE_DIGITS = 15;

const isInteger = (value: ExactNumber): value is bigint => typeof value === "bigint";

/** The value of digits as they are written. */
export const readNumber = (text: string): ExactNumber => (/^\d+$/.test(text) ? BigInt(text) : Number(text));

/** A value as people write it: `0.3` for 0.1 + 0.2. Large values that are rounded are written with their exponent, which shows it. */
export function formatNumber(value: ExactNumber): string {
  if (isInteger(value) || Number.isSafeInteger(value)) return String(BigInt(value));
  const rounded = Number(value.toPrecision(DOUBLE_DIGITS));
  return Math.abs(rounded) >= 10 ** DOUBLE_DIGITS ? rounded.toExponential() : String(rounded);
}

export const add = (a: ExactNumber, b: ExactNumber): ExactNumber =>
  isInteger(a) && isInteger(b) ? bounded(a + b) : real(toDouble(a) + toDouble(b));

export const subtract = (a: ExactNumber, b: ExactNumber): ExactNumber => add(a, negate(b));

export const negate = (value: ExactNumber): ExactNumber => -value;

export const multiply = (a: ExactNumber, b: ExactNumber): ExactNumber =>
  isInteger(a) && isInteger(b) ? bounded(a * b) : real(toDouble(a) * toDouble(b));

export function divide(a: ExactNumber, b: ExactNumber): ExactNumber {
  refuseZero(b);
  if (isInteger(a) && isInteger(b) && a % b === 0n) return a / b;
  return real(toDouble(a) / toDouble(b));
}

/** The quotient, rounded down. */
export function floorDivide(a: ExactNumber, b: ExactNumber): ExactNumber {
  refuseZero(b);
  if (!isInteger(a) || !isInteger(b)) return real(Math.floor(toDouble(a) / toDouble(b)));
  return (a - integerRemainder(a, b)) / b;
}

/** What a division leaves, with the sign of the divisor, as in Python. */
export function remainder(a: ExactNumber, b: ExactNumber): ExactNumber {
  refuseZero(b);
  if (isInteger(a) && isInteger(b)) return integerRemainder(a, b);
  const [value, divisor] = [toDouble(a), toDouble(b)];
  return real(value - divisor * Math.floor(value / divisor));
}

export function power(base: ExactNumber, exponent: ExactNumber): ExactNumber {
  if (exponent < 0) refuseZero(base);
  if (!isInteger(base) || !isInteger(exponent) || exponent < 0n) return real(toDouble(base) ** toDouble(exponent));
  const bits = (base < 0n ? -base : base).toString(2).length;
  // A power has at least so many bits.
  if (BigInt(bits - 1) * exponent > MOST_BITS) throw tooLarge();
  return bounded(base ** exponent);
}

/** A function of doubles. */
export const ofDoubles =
  (apply: (value: number) => number) =>
  (value: ExactNumber): ExactNumber =>
    real(apply(toDouble(value)));

/** A function that rounds to an integer. */
export const rounding =
  (round: (value: number) => number) =>
  (value: ExactNumber): ExactNumber => {
    const rounded = isInteger(value) ? value : round(value);
    return Number.isSafeInteger(rounded) ? BigInt(rounded) : rounded;
  };

const integerRemainder = (a: bigint, b: bigint): bigint => ((a % b) + b) % b;

function toDouble(value: ExactNumber): number {
  const double = Number(value);
  if (Number.isFinite(double)) return double;
  throw new Error("an integer of more than 308 digits cannot be part of a calculation with fractions");
}

function bounded(value: bigint): bigint {
  if (value >= TOO_LARGE || value <= -TOO_LARGE) throw tooLarge();
  return value;
}

function real(value: number): number {
  if (Number.isNaN(value)) throw new Error("the expression has no value");
  if (!Number.isFinite(value)) throw new Error("the value is infinite or too large");
  return value;
}

function refuseZero(divisor: ExactNumber): void {
  if (Number(divisor) === 0) throw new Error("division by zero");
}

const tooLarge = (): Error => new Error(`the value is infinite or too large: integers may have ${MOST_DIGITS} digits`);
