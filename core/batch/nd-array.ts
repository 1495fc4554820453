/** Element types of a batch field. `bool` is stored as one byte an element (0 or 1), as `uint8` is. */
export type DType = "float32" | "int32" | "int64" | "uint8" | "bool";

export interface DTypeArrays {
  float32: Float32Array;
  int32: Int32Array;
  int64: BigInt64Array;
  uint8: Uint8Array;
  bool: Uint8Array;
}

export const ARRAY_OF = {
  float32: Float32Array,
  int32: Int32Array,
  int64: BigInt64Array,
  uint8: Uint8Array,
  bool: Uint8Array,
} as const satisfies { [D in DType]: unknown };

/** A dense row-major array: the shape and a flat typed array (or a view of one). The first axis is the batch axis. */
export class NdArray<D extends DType = DType> {
  constructor(
    readonly dtype: D,
    readonly shape: readonly number[],
    readonly data: DTypeArrays[D],
  ) {
    const size = shape.reduce((product, extent) => product * extent, 1);
    if (data.length !== size) {
      throw new RangeError(`NdArray of shape [${shape.join(", ")}] needs ${size} elements, got ${data.length}.`);
    }
  }

  static zeros<D extends DType>(dtype: D, shape: readonly number[]): NdArray<D> {
    const size = shape.reduce((product, extent) => product * extent, 1);
    return new NdArray(dtype, shape, new ARRAY_OF[dtype](size) as DTypeArrays[D]);
  }
}
