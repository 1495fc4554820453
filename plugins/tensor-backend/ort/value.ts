import { NdArray } from "verl";
import type { Attrs, Op } from "./op.ts";

export type DType = "float32" | "int32" | "bool";
export type Values = Float32Array | Int32Array | Uint8Array;

const CONSTRUCTORS = { float32: Float32Array, int32: Int32Array, bool: Uint8Array } as const;

/** Written tensors of at most this many elements are guessed to be constants of the graph (see `GraphCache`). */
export const CONSTANT_SIZE = 8;

export const isDType = (dtype: string): dtype is DType => dtype in CONSTRUCTORS;

export function sizeOf(shape: readonly number[]): number {
  let size = 1;
  for (const dim of shape) size *= dim;
  return size;
}

export function sameShape(a: readonly number[], b: readonly number[]): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}

/** A private copy of `source` as the array type of `dtype`. */
export function copyValues(source: ArrayLike<number>, dtype: DType): Values {
  const values = NdArray.unwritten(dtype, [source.length]).data;
  values.set(source);
  return values;
}

export const allocate = (dtype: DType, size: number): Values => new CONSTRUCTORS[dtype](size);

/**
 * What tfjs holds as `dataId`: a tensor's values, or the recorded operation that will give them.
 * Values are never written to once they are here, so reshaped tensors share one array.
 */
export class LazyValue {
  readonly size: number;
  /** Tensors that refer to it; at 0 nobody can ask for the values any more. */
  refCount = 1;
  /** Undefined while pending. */
  values: Values | undefined;
  /** Its array is no other value's, and may be written to again when nobody refers to it any more. */
  own = false;
  /** Small and written from JavaScript: probably the same in each step. */
  constant = false;
  /** Number of the tape that it stands on. */
  tape = -1;
  /** Position on that tape: 0, 1, … an operation; −1, −2, … a leaf. */
  index = 0;

  constructor(
    readonly shape: readonly number[],
    readonly dtype: DType,
    public op: Op | undefined,
    public inputs: readonly LazyValue[],
    public attrs: Attrs | undefined,
  ) {
    this.size = sizeOf(shape);
  }

  /** Forgets how it was made; the values stay, if there are any. */
  settle(values: Values | undefined): void {
    this.values = values;
    this.op = undefined;
    this.inputs = NOTHING;
    this.attrs = undefined;
  }
}

const NOTHING: readonly LazyValue[] = [];

export function leafOf(values: Values, shape: readonly number[], dtype: DType): LazyValue {
  const leaf = new LazyValue(shape, dtype, undefined, NOTHING, undefined);
  leaf.values = values;
  return leaf;
}
