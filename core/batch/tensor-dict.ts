import { VerlError } from "../errors/verl-error.ts";
import { describe, isNdArray, type DType, type NdArray, type RowIds } from "./nd-array.ts";

/** What a `TensorDict` is made of. */
export type TensorFields = Readonly<Record<string, NdArray>> | Iterable<readonly [string, NdArray]>;

/** Named arrays with one batch axis: every field has the same number of rows. Fields keep their order; the dictionary never changes. */
export class TensorDict {
  /** Rows of every field; 0 when there is no field. */
  readonly batchSize: number;
  readonly #fields: ReadonlyMap<string, NdArray>;

  /** @throws VERL_BATCH_SHAPE when the fields' row counts differ, or a field has no batch axis. */
  constructor(fields: TensorFields = {}) {
    this.#fields = new Map(isIterable(fields) ? fields : Object.entries(fields));
    for (const [key, array] of this.#fields) {
      if (!isNdArray(array)) {
        throw new VerlError("VERL_BATCH_FIELD_TYPE", `Batch field "${key}" is not an NdArray.`);
      }
      if (array.shape.length === 0) {
        throw new VerlError("VERL_BATCH_SHAPE", `Batch field "${key}" is a scalar; a field needs a batch axis.`);
      }
    }
    const [first] = this.#fields;
    this.batchSize = first?.[1].rows ?? 0;
    for (const [key, array] of this.#fields) {
      if (array.rows !== this.batchSize) {
        throw new VerlError(
          "VERL_BATCH_SHAPE",
          `Batch field "${key}" has ${array.rows} rows, but field "${first![0]}" has ${this.batchSize}.`,
          { hint: "All fields of a batch have the same first extent." },
        );
      }
    }
  }

  /** Number of fields. */
  get size(): number {
    return this.#fields.size;
  }

  has(key: string): boolean {
    return this.#fields.has(key);
  }

  /**
   * The field under `key`; with `dtype`, checked to have it.
   * @throws VERL_BATCH_FIELD_MISSING, VERL_BATCH_FIELD_TYPE
   */
  get(key: string): NdArray;
  get<D extends DType>(key: string, dtype: D): NdArray<D>;
  get(key: string, dtype?: DType): NdArray {
    const array = this.#fields.get(key);
    if (!array) {
      throw new VerlError("VERL_BATCH_FIELD_MISSING", `The batch has no field "${key}".`, {
        hint: `It has ${quoteAll(this.keys())}.`,
      });
    }
    if (dtype && array.dtype !== dtype) {
      throw new VerlError(
        "VERL_BATCH_FIELD_TYPE",
        `Batch field "${key}" is ${describe(array)}, but ${dtype} is needed.`,
      );
    }
    return array;
  }

  keys(): string[] {
    return [...this.#fields.keys()];
  }

  entries(): IterableIterator<[string, NdArray]> {
    return new Map(this.#fields).entries();
  }

  [Symbol.iterator](): IterableIterator<[string, NdArray]> {
    return this.entries();
  }

  /** Every field passed through `change`. */
  map(change: (array: NdArray, key: string) => NdArray): TensorDict {
    return new TensorDict([...this.#fields].map(([key, array]) => [key, change(array, key)] as const));
  }

  /** The named fields, in the order given. @throws VERL_BATCH_FIELD_MISSING */
  select(keys: Iterable<string>): TensorDict {
    return new TensorDict([...keys].map((key) => [key, this.get(key)] as const));
  }

  /** Views of rows [start, end). */
  slice(start: number, end: number): TensorDict {
    return this.map((array) => array.slice(start, end));
  }

  /** Copies of the named rows. */
  gather(ids: RowIds): TensorDict {
    return this.map((array) => array.gather(ids));
  }

  /** Same keys (in any order) and equal arrays. */
  equals(other: TensorDict): boolean {
    return (
      this.size === other.size &&
      [...this.#fields].every(([key, array]) => other.has(key) && array.equals(other.get(key)))
    );
  }
}

/** `"a", "b"`, or `no fields`; for messages. */
export function quoteAll(keys: readonly string[]): string {
  return keys.length === 0 ? "no fields" : keys.map((key) => `"${key}"`).join(", ");
}

function isIterable(value: object): value is Iterable<readonly [string, NdArray]> {
  return Symbol.iterator in value;
}
