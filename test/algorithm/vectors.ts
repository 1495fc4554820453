import { readFileSync } from "node:fs";
import { expect } from "@jest/globals";
import { NdArray } from "../../core/batch/index.ts";

/** Numbers of the reference: a value that is not finite stands as a string. */
type Cell = number | "nan" | "inf" | "-inf";
export type Matrix = Cell[][];

export function vectors<T>(file: string): T[] {
  return JSON.parse(readFileSync(new URL(`../parity/${file}.json`, import.meta.url), "utf8")) as T[];
}

export function flat(matrix: Matrix): Float32Array {
  return Float32Array.from(matrix.flat(), (cell) =>
    typeof cell === "number" ? cell : { nan: NaN, inf: Infinity, "-inf": -Infinity }[cell],
  );
}

export function array(matrix: Matrix): NdArray<"float32"> {
  return new NdArray("float32", [matrix.length, matrix[0]!.length], flat(matrix));
}

/** Within 1e-5 relative, 1e-6 absolute; only where the mask is 1, when one is given. */
export function expectClose(actual: ArrayLike<number>, expected: ArrayLike<number>, mask?: ArrayLike<number>): void {
  expect(actual.length).toBe(expected.length);
  for (let i = 0; i < expected.length; i++) {
    if (mask && mask[i] === 0) continue;
    const [a, e] = [actual[i]!, expected[i]!];
    if (!(Math.abs(a - e) <= 1e-6 + 1e-5 * Math.abs(e))) throw new Error(`Element ${i} is ${a}, not ${e}.`);
  }
}
