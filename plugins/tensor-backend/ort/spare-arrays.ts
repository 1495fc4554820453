import { NdArray } from "verl";

/** Bytes that wait to be used again, at most: a few results of a large batch. */
const MAX_BYTES = 128 * 2 ** 20;
/** Of smaller arrays, a new one costs nothing. */
const MIN_ELEMENTS = 65_536;

/**
 * Arrays of results that nobody refers to any more, to be written to again. A new array of many megabytes costs more than filling it: its
 * pages have to come from the system, and V8 collects its heap after every few of them.
 */
export class SpareArrays {
  readonly #arrays: Float32Array[] = [];
  #bytes = 0;

  /** An array of any numbers, every one of which is to be written. */
  take(size: number): Float32Array {
    const at = this.#arrays.findLastIndex(({ length }) => length === size);
    if (at < 0) return NdArray.unwritten("float32", [size]).data;
    const [array] = this.#arrays.splice(at, 1);
    this.#bytes -= array!.byteLength;
    return array!;
  }

  /** Takes an array that nobody else holds; those that waited longest make room. */
  keep(array: Float32Array): void {
    if (array.length < MIN_ELEMENTS || array.byteLength > MAX_BYTES) return;
    this.#arrays.push(array);
    this.#bytes += array.byteLength;
    while (this.#bytes > MAX_BYTES) this.#bytes -= this.#arrays.shift()!.byteLength;
  }

  clear(): void {
    this.#arrays.length = 0;
    this.#bytes = 0;
  }
}
