import { VerlError } from "../errors/verl-error.ts";
import type { DType } from "./nd-array.ts";

/** An element of an array as literals write it. */
export type Element = number | bigint | boolean;

/** Lists in lists, all of one depth, with elements inside; or one element, which is an array without axes. */
export type Nested = Element | readonly Nested[];

const RANGES: { readonly [D in DType]?: readonly [number | bigint, number | bigint] } = {
  int32: [-(2 ** 31), 2 ** 31 - 1],
  int64: [-(2n ** 63n), 2n ** 63n - 1n],
  uint8: [0, 255],
  bool: [0, 1],
};

/**
 * The shape of nested lists and their elements in order, as numbers or, for int64, bigints.
 * @throws VERL_BATCH_SHAPE for lists of different lengths or depths, and for an element that the dtype does not hold.
 */
export function flatten(nested: Nested, dtype: DType): { shape: number[]; values: (number | bigint)[] } {
  const shape: number[] = [];
  for (let level: Nested | undefined = nested; Array.isArray(level); level = level[0] as Nested | undefined)
    shape.push(level.length);
  const values: (number | bigint)[] = [];
  const visit = (node: Nested, place: readonly number[]): void => {
    const extent = shape[place.length];
    if (Array.isArray(node)) {
      if (node.length !== extent) throw ragged(place, `a list of ${node.length}`, extent);
      node.forEach((child: Nested, index) => visit(child, [...place, index]));
    } else if (extent !== undefined) {
      throw ragged(place, String(node), extent);
    } else {
      values.push(element(node as Element, dtype, place));
    }
  };
  visit(nested, []);
  return { shape, values };
}

function element(value: Element, dtype: DType, place: readonly number[]): number | bigint {
  const range = RANGES[dtype];
  const number = typeof value === "boolean" ? Number(value) : value;
  if (range === undefined) return Number(number);
  const whole = typeof number === "bigint" || Number.isSafeInteger(number);
  if (whole && number >= range[0] && number <= range[1]) return dtype === "int64" ? BigInt(number) : Number(number);
  throw new VerlError(
    "VERL_BATCH_SHAPE",
    `The element at [${place.join(", ")}] is ${String(value)}, which is no ${dtype}.`,
    {
      hint: `It must be a whole number from ${range[0]} to ${range[1]}; float32 holds others.`,
    },
  );
}

function ragged(place: readonly number[], found: string, extent: number | undefined): VerlError {
  const expected = extent === undefined ? "a single element" : `a list of ${extent}`;
  return new VerlError(
    "VERL_BATCH_SHAPE",
    `The lists have no one shape: at [${place.join(", ")}] is ${found}, where the first row has ${expected}.`,
    { hint: "Pad the rows to one length, or keep them as a column of values in the batch." },
  );
}
