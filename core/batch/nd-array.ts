import { VerlError } from "../errors/verl-error.ts";
import { flatten, type Nested } from "./nested.ts";

/** Element types of a batch field. `bool` is stored as one byte an element (0 or 1), as `uint8` is. */
export type DType = "float32" | "int32" | "int64" | "uint8" | "bool";

/** The typed array that stores each element type. */
export interface DTypeArrays {
  float32: Float32Array;
  int32: Int32Array;
  int64: BigInt64Array;
  uint8: Uint8Array;
  bool: Uint8Array;
}

const ARRAY_OF = {
  float32: Float32Array,
  int32: Int32Array,
  int64: BigInt64Array,
  uint8: Uint8Array,
  bool: Uint8Array,
} as const satisfies { [D in DType]: unknown };

/** Row numbers, as `gather` takes them. */
export type RowIds = ArrayLike<number>;

/** Rows of fewer elements are gathered by a plain loop; longer ones by `set`, whose call costs about as much as this many stores. */
const SMALL_ROW = 32;

/** Arrays of fewer bytes cost less when V8 itself makes them, cleared. */
const SMALL_ARRAY = 4096;

/**
 * A dense row-major array: the shape and a flat typed array (or a view of one). The first axis is the batch axis.
 * Treat `data` as read-only once the array is shared: views (`row`, `slice`, `reshape`) see what is written through any of them.
 */
export class NdArray<D extends DType = DType> {
  /**
   * @param data exactly as many elements as the shape has; kept, not copied.
   * @throws VERL_BATCH_SHAPE when the count differs, or an extent is not a natural number.
   */
  constructor(
    readonly dtype: D,
    readonly shape: readonly number[],
    readonly data: DTypeArrays[D],
  ) {
    if (data.length !== elementCount(shape)) {
      throw new VerlError(
        "VERL_BATCH_SHAPE",
        `An array of shape [${shape.join(", ")}] needs ${elementCount(shape)} elements, but the data has ${data.length}.`,
      );
    }
  }

  /**
   * An array of nested lists, for tests and small inputs: `NdArray.from([[1, 2], [3, 4]], "int32")` has the shape [2, 2]. Booleans
   * count as 0 and 1. Lists without elements end the shape: `[[], []]` has the shape [2, 0].
   * @param dtype Default: float32. The integer types take whole numbers in their range alone.
   * @throws VERL_BATCH_SHAPE when the lists have different lengths or depths, or the dtype does not hold an element.
   */
  static from<D extends DType = "float32">(nested: Nested, dtype: D = "float32" as D): NdArray<D> {
    const { shape, values } = flatten(nested, dtype);
    const data = allocate(dtype, values.length);
    values.forEach((value, at) => ((data as Writable)[at] = value));
    return new NdArray(dtype, shape, data);
  }

  static zeros<D extends DType>(dtype: D, shape: readonly number[]): NdArray<D> {
    return new NdArray(dtype, shape, allocate(dtype, elementCount(shape)));
  }

  /**
   * An array whose elements hold anything at all until its maker has written every one of them: memory that was used before is neither
   * cleared nor fetched from the system, which for a large array takes longer than most formulas do.
   */
  static unwritten<D extends DType>(dtype: D, shape: readonly number[]): NdArray<D> {
    return new NdArray(dtype, shape, allocateUnwritten(dtype, elementCount(shape)));
  }

  /** A typed array as a field of one element a row; undefined for anything else. */
  static fromTyped(value: unknown): NdArray | undefined {
    if (value instanceof Float32Array) return new NdArray("float32", [value.length], value);
    if (value instanceof Int32Array) return new NdArray("int32", [value.length], value);
    if (value instanceof BigInt64Array) return new NdArray("int64", [value.length], value);
    if (value instanceof Uint8Array) return new NdArray("uint8", [value.length], value);
    return undefined;
  }

  /**
   * Rows of all parts in order, copied. All parts have one dtype and one row shape; at least one part.
   * @param into an array that nobody reads any more: its memory is written again if it is of this dtype and large enough.
   * @throws VERL_BATCH_SHAPE when the parts differ.
   */
  static concat<D extends DType>(parts: readonly NdArray<D>[], into?: NdArray): NdArray<D> {
    const [first] = parts;
    if (!first) throw new VerlError("VERL_BATCH_SHAPE", "Nothing to concatenate: there are no arrays.");
    let rows = 0;
    for (const part of parts) {
      if (part.dtype !== first.dtype || !sameShape(part.rowShape, first.rowShape)) {
        throw new VerlError("VERL_BATCH_SHAPE", `Arrays ${describe(first)} and ${describe(part)} do not concatenate.`, {
          hint: "Rows must have one dtype and one shape; pad them to a common width first.",
        });
      }
      rows += part.rows;
    }
    const size = rows * first.rowSize;
    const reusable =
      into?.dtype === first.dtype &&
      into.data.length >= size &&
      parts.every((part) => part.data.buffer !== into.data.buffer);
    const data = reusable ? view(into.data as DTypeArrays[D], 0, size) : allocateUnwritten(first.dtype, size);
    let offset = 0;
    for (const part of parts) {
      put(data, part.data, offset);
      offset += part.data.length;
    }
    return new NdArray(first.dtype, [rows, ...first.rowShape], data);
  }

  /** Extent of the batch axis; 1 for a scalar. */
  get rows(): number {
    return this.shape[0] ?? 1;
  }

  /** Shape of one row. */
  get rowShape(): readonly number[] {
    return this.shape.slice(1);
  }

  /** Elements in one row. */
  get rowSize(): number {
    return elementCount(this.rowShape);
  }

  /** View of row `index`, without the batch axis. */
  row(index: number): NdArray<D> {
    checkRow(index, this.rows);
    const size = this.rowSize;
    return new NdArray(this.dtype, this.rowShape, view(this.data, index * size, (index + 1) * size));
  }

  /** View of rows [start, end); negative numbers count from the end, as in `Array.slice`. */
  slice(start = 0, end = this.rows): NdArray<D> {
    const from = clampIndex(start, this.rows);
    const to = Math.max(from, clampIndex(end, this.rows));
    const size = this.rowSize;
    return new NdArray(this.dtype, [to - from, ...this.rowShape], view(this.data, from * size, to * size));
  }

  /** Copies of the named rows, in that order, repeats allowed. */
  gather(ids: RowIds): NdArray<D> {
    const size = this.rowSize;
    const data = allocateUnwritten(this.dtype, ids.length * size);
    const source: Writable = this.data;
    const target: Writable = data;
    if (size < SMALL_ROW) {
      for (let i = 0, at = 0; i < ids.length; i++) {
        const from = checkRow(ids[i]!, this.rows) * size;
        for (let j = 0; j < size; j++) target[at++] = source[from + j]!;
      }
    } else {
      // Consecutive row numbers are one copy.
      for (let i = 0; i < ids.length;) {
        const first = checkRow(ids[i]!, this.rows);
        let run = 1;
        while (i + run < ids.length && ids[i + run] === first + run && first + run < this.rows) run++;
        put(data, view(this.data, first * size, (first + run) * size), i * size);
        i += run;
      }
    }
    return new NdArray(this.dtype, [ids.length, ...this.rowShape], data);
  }

  /** View with another shape of as many elements. */
  reshape(shape: readonly number[]): NdArray<D> {
    return new NdArray(this.dtype, shape, this.data);
  }

  /** A copy that shares no memory. */
  copy(): NdArray<D> {
    return new NdArray(this.dtype, this.shape, this.data.slice() as DTypeArrays[D]);
  }

  /** Same dtype, shape and values; NaN equals NaN. */
  equals(other: NdArray): boolean {
    if (other === this) return true;
    return other.dtype === this.dtype && sameShape(other.shape, this.shape) && this.firstDifferentRow(other) === -1;
  }

  /** First row that differs from `other`'s, which has the same dtype and shape; -1 when none does. */
  firstDifferentRow(other: NdArray): number {
    if (bytesOf(this.data).equals(bytesOf(other.data))) return -1;
    const mine: Writable = this.data;
    const theirs: Writable = other.data;
    for (let i = 0; i < mine.length; i++) {
      const a = mine[i]!;
      const b = theirs[i]!;
      // Two NaNs may have different bits; each differs from itself.
      if (a !== b && (a === a || b === b)) return Math.floor(i / this.rowSize);
    }
    return -1;
  }
}

/** True for an NdArray of any copy of this package. */
export function isNdArray(value: unknown): value is NdArray {
  return (
    typeof value === "object" &&
    value !== null &&
    "dtype" in value &&
    "shape" in value &&
    ArrayBuffer.isView((value as NdArray).data)
  );
}

/** `int32[4, 8]`, for messages. */
export function describe(array: NdArray): string {
  return `${array.dtype}[${array.shape.join(", ")}]`;
}

export function sameShape(a: readonly number[], b: readonly number[]): boolean {
  return a.length === b.length && a.every((extent, axis) => extent === b[axis]);
}

/** Index of `Array.slice`: negative counts from the end, and the result lies in [0, length]. */
export function clampIndex(index: number, length: number): number {
  return Math.min(Math.max(index < 0 ? length + index : index, 0), length);
}

/** One typed array of unknown element type, as loops see it. */
type Writable = { readonly length: number; [index: number]: number | bigint };

function elementCount(shape: readonly number[]): number {
  let count = 1;
  for (const extent of shape) {
    if (!Number.isSafeInteger(extent) || extent < 0) {
      throw new VerlError(
        "VERL_BATCH_SHAPE",
        `[${shape.join(", ")}] is not a shape: each extent is an integer, 0 or more.`,
      );
    }
    count *= extent;
  }
  return count;
}

function checkRow(index: number, rows: number): number {
  if (!Number.isInteger(index) || index < 0 || index >= rows) {
    throw new VerlError("VERL_BATCH_INDEX", `Row ${index} does not exist: there are ${rows} rows, numbered from 0.`);
  }
  return index;
}

function allocate<D extends DType>(dtype: D, length: number): DTypeArrays[D] {
  return new ARRAY_OF[dtype](length) as DTypeArrays[D];
}

function allocateUnwritten<D extends DType>(dtype: D, length: number): DTypeArrays[D] {
  const bytes = length * ARRAY_OF[dtype].BYTES_PER_ELEMENT;
  if (bytes < SMALL_ARRAY) return allocate(dtype, length);
  const { buffer } = Buffer.allocUnsafeSlow(bytes);
  return new ARRAY_OF[dtype](buffer) as DTypeArrays[D];
}

function view<D extends DType>(data: DTypeArrays[D], start: number, end: number): DTypeArrays[D] {
  return data.subarray(start, end) as DTypeArrays[D];
}

function put<D extends DType>(target: DTypeArrays[D], source: DTypeArrays[D], offset: number): void {
  (target as Uint8Array).set(source as Uint8Array, offset);
}

function bytesOf(data: ArrayBufferView): Buffer {
  return Buffer.from(data.buffer, data.byteOffset, data.byteLength);
}
