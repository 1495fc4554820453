import { isDeepStrictEqual } from "node:util";
import { VerlError } from "../errors/verl-error.ts";
import { concatMeta, mergeMeta, type ConflictPolicy, type MetaInfo } from "./meta-info.ts";
import { clampIndex, isNdArray, NdArray, type DType, type DTypeArrays, type RowIds } from "./nd-array.ts";
import {
  cyclicIds,
  repeatedIds,
  requirePositive,
  resolveIds,
  sampleRepeatedIds,
  steppedIds,
  type RowSelection,
  type Shuffler,
} from "./row-ids.ts";
import { quoteAll, TensorDict, type TensorFields } from "./tensor-dict.ts";
import { unionSizes, uniteColumns, uniteTensors } from "./union.ts";

/** One value a row, of any kind: strings, numbers, objects, ragged arrays. */
export type Column = readonly unknown[];
type ColumnFields = Readonly<Record<string, Column>> | Iterable<readonly [string, Column]>;

/** One row: views of the tensors (without the batch axis), the values, and the batch's metaInfo. */
export interface DataProtoItem {
  readonly batch: ReadonlyMap<string, NdArray>;
  readonly nonTensorBatch: ReadonlyMap<string, unknown>;
  readonly metaInfo: MetaInfo;
}

export interface DataProtoParts {
  batch?: TensorDict | TensorFields;
  nonTensorBatch?: ColumnFields;
  metaInfo?: MetaInfo;
}

/** Which parts of a batch; an absent list means all of that part. */
export interface DataProtoKeys {
  batchKeys?: readonly string[];
  nonTensorBatchKeys?: readonly string[];
  metaInfoKeys?: readonly string[];
}

/**
 * Reserved bool field, one flag a row, 1 on rows that `padToDivisor` added. Absent: no row is padding. It travels with its rows
 * through every method, `select` included. Padding rows also have a zero `response_mask`, so whatever reduces under that mask
 * leaves them out by itself; what counts rows asks `isPadRow` or `validRows`.
 */
export const IS_PAD = "is_pad";

/** Masks that are 0 on padding rows. */
const LOSS_MASKS = new Set(["response_mask", "loss_mask"]);

/**
 * The batch that goes down the trainer's road: tensors, values of any kind, and facts about the whole. All parts have the same
 * number of rows. Methods return new batches and share memory with the old one where nothing had to move; only `pop` changes its
 * receiver, as its name says. A batch of no rows goes through every method.
 */
export class DataProto {
  #batch: TensorDict;
  #nonTensorBatch: ReadonlyMap<string, Column>;
  #metaInfo: MetaInfo;

  /** @throws VERL_BATCH_SHAPE when the parts have different numbers of rows; VERL_BATCH_CONFLICT when a key is in both. */
  constructor({ batch = {}, nonTensorBatch = {}, metaInfo = {} }: DataProtoParts = {}) {
    this.#batch = batch instanceof TensorDict ? batch : new TensorDict(batch);
    this.#nonTensorBatch = new Map(Symbol.iterator in nonTensorBatch ? nonTensorBatch : Object.entries(nonTensorBatch));
    this.#metaInfo = metaInfo;
    for (const [key, column] of this.#nonTensorBatch) {
      if (column.length !== this.length) {
        throw new VerlError(
          "VERL_BATCH_SHAPE",
          `Column "${key}" has ${column.length} rows, but the batch has ${this.length}.`,
        );
      }
      if (this.#batch.has(key)) {
        throw new VerlError("VERL_BATCH_CONFLICT", `"${key}" is both a tensor field and a column.`, {
          hint: "Rename one.",
        });
      }
    }
  }

  /** NdArrays and typed arrays (one element a row) become tensors, plain arrays become columns. @throws VERL_BATCH_FIELD_TYPE */
  static fromSingleDict(
    fields: Readonly<Record<string, NdArray | DTypeArrays[DType] | Column>>,
    metaInfo?: MetaInfo,
  ): DataProto {
    const batch = new Map<string, NdArray>();
    const nonTensorBatch = new Map<string, Column>();
    for (const [key, value] of Object.entries(fields)) {
      const array = isNdArray(value) ? value : fromTyped(value);
      if (array) batch.set(key, array);
      else if (Array.isArray(value)) nonTensorBatch.set(key, value as Column);
      else throw new VerlError("VERL_BATCH_FIELD_TYPE", `Field "${key}" is neither an array nor an NdArray.`);
    }
    return new DataProto({ batch, nonTensorBatch, metaInfo });
  }

  /** From tensors and columns apart; the same as the constructor, in verl's argument order. */
  static fromDict(tensors: TensorFields = {}, nonTensors: ColumnFields = {}, metaInfo: MetaInfo = {}): DataProto {
    return new DataProto({ batch: tensors, nonTensorBatch: nonTensors, metaInfo });
  }

  /**
   * Rows of all parts in order, copied. Parts have the same fields; parts without any field are passed over; padding flags stay.
   * metaInfo: equal values merge, `metrics` of the parts become name → list, others go by `policy`.
   * @param options.into a batch that nobody reads any more: its memory is written again where a field fits, which spares the
   *   system fresh pages (most of the time of a large concat).
   * @throws VERL_BATCH_FIELD_MISSING, VERL_BATCH_SHAPE, VERL_BATCH_CONFLICT
   */
  static concat(parts: readonly DataProto[], options: { policy?: ConflictPolicy; into?: DataProto } = {}): DataProto {
    const metaInfo = concatMeta(
      parts.map((part) => part.metaInfo),
      options.policy ?? "error",
    );
    let filled = parts.filter(hasFields);
    if (filled.some((part) => part.batch.has(IS_PAD))) filled = filled.map(withPadFlags);
    const [first] = filled;
    if (!first) return new DataProto({ metaInfo });
    for (const part of filled) {
      requireSameKeys(first.batch.keys(), part.batch.keys());
      requireSameKeys([...first.nonTensorBatch.keys()], [...part.nonTensorBatch.keys()]);
    }
    const batch = first.batch.map((_, key) => {
      const reusable = options.into?.batch.has(key) ? options.into.batch.get(key) : undefined;
      return NdArray.concat(
        filled.map((part) => part.batch.get(key)),
        reusable,
      );
    });
    const nonTensorBatch = mapColumns(first, (_, key) => filled.flatMap((part) => [...part.column(key)]));
    return new DataProto({ batch, nonTensorBatch, metaInfo });
  }

  //ARROWREAD

  get batch(): TensorDict {
    return this.#batch;
  }

  get nonTensorBatch(): ReadonlyMap<string, Column> {
    return this.#nonTensorBatch;
  }

  get metaInfo(): MetaInfo {
    return this.#metaInfo;
  }

  /** Number of rows, padding included. */
  get length(): number {
    if (this.#batch.size > 0) return this.#batch.batchSize;
    const [first] = this.#nonTensorBatch.values();
    return first?.length ?? 0;
  }

  /** The tensor under `key`, checked to have `dtype` when one is given. @throws VERL_BATCH_FIELD_MISSING, VERL_BATCH_FIELD_TYPE */
  tensor(key: string): NdArray;
  tensor<D extends DType>(key: string, dtype: D): NdArray<D>;
  tensor(key: string, dtype?: DType): NdArray {
    return dtype ? this.#batch.get(key, dtype) : this.#batch.get(key);
  }

  /** The values under `key`, one a row. @throws VERL_BATCH_FIELD_MISSING */
  column(key: string): Column {
    const column = this.#nonTensorBatch.get(key);
    if (!column) {
      throw new VerlError("VERL_BATCH_FIELD_MISSING", `The batch has no column "${key}".`, {
        hint: `It has ${quoteAll([...this.#nonTensorBatch.keys()])}.`,
      });
    }
    return column;
  }

  /** Row `index`, as views. @throws VERL_BATCH_INDEX */
  row(index: number): DataProtoItem {
    resolveIds([index], this.length);
    return {
      batch: new Map([...this.#batch].map(([key, array]) => [key, array.row(index)])),
      nonTensorBatch: new Map([...this.#nonTensorBatch].map(([key, column]) => [key, column[index]])),
      metaInfo: this.#metaInfo,
    };
  }

  /** The named parts, shared. @throws VERL_BATCH_FIELD_MISSING for a key that does not exist, of any part. */
  select({ batchKeys, nonTensorBatchKeys, metaInfoKeys }: DataProtoKeys): DataProto {
    const fields = new Set(batchKeys ?? this.#batch.keys());
    if (this.#batch.has(IS_PAD)) fields.add(IS_PAD);
    const columns = nonTensorBatchKeys ?? [...this.#nonTensorBatch.keys()];
    const facts = metaInfoKeys ?? Object.keys(this.#metaInfo);
    return new DataProto({
      batch: this.#batch.select(fields),
      nonTensorBatch: columns.map((key) => [key, this.column(key)] as const),
      metaInfo: Object.fromEntries(facts.map((key) => [key, this.#fact(key)])),
    });
  }

  /** Takes the named parts out of this batch and returns them; an absent list takes nothing. Padding flags stay on both sides. */
  pop({ batchKeys = [], nonTensorBatchKeys = [], metaInfoKeys = [] }: DataProtoKeys): DataProto {
    const taken = this.select({ batchKeys, nonTensorBatchKeys, metaInfoKeys });
    const gone = new Set(batchKeys.filter((key) => key !== IS_PAD));
    this.#batch = new TensorDict([...this.#batch].filter(([key]) => !gone.has(key)));
    this.#nonTensorBatch = new Map([...this.#nonTensorBatch].filter(([key]) => !nonTensorBatchKeys.includes(key)));
    this.#metaInfo = Object.fromEntries(Object.entries(this.#metaInfo).filter(([key]) => !metaInfoKeys.includes(key)));
    return taken;
  }

  /**
   * Fields of both, side by side, shared. The same key on both sides must hold equal values (NaN equals NaN, objects by value)
   * unless `policy` says whose to take. Neither operand changes.
   * @throws VERL_BATCH_SHAPE when the row counts differ; VERL_BATCH_CONFLICT naming the key and its first differing row.
   */
  union(other: DataProto, policy: ConflictPolicy = "error"): DataProto {
    if (hasFields(this) && hasFields(other) && this.length !== other.length) {
      throw unionSizes(this.length, other.length, allKeys(this), allKeys(other));
    }
    return new DataProto({
      batch: uniteTensors(this.#batch, other.#batch, policy),
      nonTensorBatch: uniteColumns(this.#nonTensorBatch, other.#nonTensorBatch, policy),
      metaInfo: mergeMeta(this.#metaInfo, other.#metaInfo, policy),
    });
  }

  /** New keys for old ones, tensors and columns alike; order is kept. @throws VERL_BATCH_FIELD_MISSING, VERL_BATCH_CONFLICT */
  rename(names: Readonly<Record<string, string>>): DataProto {
    const next = new Map(Object.entries(names));
    for (const key of next.keys()) {
      if (!this.#batch.has(key) && !this.#nonTensorBatch.has(key)) this.tensor(key);
    }
    const renamed = <T>(fields: Iterable<readonly [string, T]>): [string, T][] => {
      const pairs = [...fields].map(([key, value]): [string, T] => [next.get(key) ?? key, value]);
      const twice = pairs.find(([key], i) => pairs.findIndex(([other]) => other === key) !== i);
      if (twice) throw new VerlError("VERL_BATCH_CONFLICT", `Renaming would give two fields the name "${twice[0]}".`);
      return pairs;
    };
    return new DataProto({
      batch: renamed(this.#batch),
      nonTensorBatch: renamed(this.#nonTensorBatch),
      metaInfo: this.#metaInfo,
    });
  }

  /** Rows [start, end) in steps of `step`, as views; a step above 1 copies. Negative bounds count from the end. */
  slice(start = 0, end = this.length, step = 1): DataProto {
    const from = clampIndex(start, this.length);
    const to = Math.max(from, clampIndex(end, this.length));
    if (step !== 1) return this.#gather(steppedIds(from, to, step));
    return this.#with(
      this.#batch.slice(from, to),
      mapColumns(this, (column) => column.slice(from, to)),
    );
  }

  /** The rows of a list of row numbers, or those that a boolean mask keeps; copied. @throws VERL_BATCH_INDEX, VERL_BATCH_SHAPE */
  index(rows: RowSelection): DataProto {
    return this.#gather(resolveIds(rows, this.length));
  }

  /** The rows in another order. @param order each row number exactly once. @throws VERL_BATCH_INDEX */
  reorder(order: RowIds): DataProto {
    if (order.length !== this.length || new Set(Array.from(order)).size !== this.length) {
      throw new VerlError(
        "VERL_BATCH_INDEX",
        `An order of ${this.length} rows names each row once; this one has ${order.length} entries, ${new Set(Array.from(order)).size} of them different.`,
        { hint: "Use index() to drop or repeat rows." },
      );
    }
    return this.#gather(resolveIds(order, this.length));
  }

  /** Each row `times` times: a, a, b, b when interleaved (the default), else a, b, a, b. */
  repeat(times = 2, { interleave = true }: { interleave?: boolean } = {}): DataProto {
    return this.#gather(repeatedIds(this.length, times, interleave));
  }

  /** Row i `times[i]` times, in place. @throws VERL_BATCH_SHAPE unless there is one count a row. */
  sampleLevelRepeat(times: RowIds): DataProto {
    return this.#gather(sampleRepeatedIds(this.length, times));
  }

  /**
   * `count` parts in order, as views; the first `length % count` are one row longer (4, 3, 3), and some are empty when there are
   * fewer rows than parts. @param options.equal refuse uneven parts. @throws VERL_BATCH_SPLIT
   */
  chunk(count: number, { equal = false }: { equal?: boolean } = {}): DataProto[] {
    requirePositive("Number of chunks", count);
    if (equal && this.length % count !== 0) throw uneven(this.length, `${count} equal chunks`, count);
    const size = Math.floor(this.length / count);
    const longer = this.length % count;
    return Array.from({ length: count }, (_, i) => {
      const start = i * size + Math.min(i, longer);
      return this.slice(start, start + size + (i < longer ? 1 : 0));
    });
  }

  /** Parts of `size` rows, as views; the last one may be short. @param options.equal refuse a short one. @throws VERL_BATCH_SPLIT */
  split(size: number, { equal = false }: { equal?: boolean } = {}): DataProto[] {
    requirePositive("Size of a part", size);
    if (equal && this.length % size !== 0) throw uneven(this.length, `parts of ${size} rows`, size);
    return Array.from({ length: Math.ceil(this.length / size) }, (_, i) => this.slice(i * size, (i + 1) * size));
  }

  /**
   * Mini-batches of `miniBatchSize` rows, `epochs` times over; the last of an epoch may be short. In order these are views; with
   * `shuffle`, each epoch is a fresh permutation drawn from that stream.
   * @param options.shuffle the seeded stream, for example `createRng(seed).stream("mini_batches")`. Default: no shuffling.
   */
  *makeIterator(
    miniBatchSize: number,
    { epochs = 1, shuffle, equal = false }: { epochs?: number; shuffle?: Shuffler; equal?: boolean } = {},
  ): Generator<DataProto> {
    for (let epoch = 0; epoch < epochs; epoch++) {
      const rows = shuffle ? this.#gather(shuffle.shuffle(cyclicIds(this.length, this.length))) : this;
      yield* rows.split(miniBatchSize, { equal });
    }
  }

  /**
   * Adds copies of the first rows, cyclically, until `divisor` divides the length; each is flagged in `is_pad`, and its
   * `response_mask` is 0. A batch of no rows, or one that divides already, stays as it is. @throws VERL_BATCH_SPLIT
   */
  padToDivisor(divisor: number): DataProto {
    requirePositive("Divisor", divisor);
    const missing = this.length === 0 ? 0 : (divisor - (this.length % divisor)) % divisor;
    if (missing === 0) return this;
    const rows = this.length;
    const padded = withPadFlags(this).#gather(cyclicIds(rows, rows + missing));
    for (const [key, array] of padded.batch) {
      // Freshly gathered arrays, which nobody else sees yet.
      if (key === IS_PAD) array.data.fill(1 as never, rows);
      if (LOSS_MASKS.has(key)) array.data.fill((array.dtype === "int64" ? 0n : 0) as never, rows * array.rowSize);
    }
    return padded;
  }

  /** Without the rows that `padToDivisor` added, wherever they went since. */
  unpad(): DataProto {
    if (!this.#batch.has(IS_PAD)) return this;
    const valid = this.validRows();
    const inFront = valid.every((row, i) => row === i);
    const rows = inFront ? this.slice(0, valid.length) : this.#gather(valid);
    return rows.#with(new TensorDict([...rows.batch].filter(([key]) => key !== IS_PAD)), rows.nonTensorBatch);
  }

  /** True when row `index` was added by `padToDivisor`. */
  isPadRow(index: number): boolean {
    return (
      this.#batch.has(IS_PAD) &&
      this.#batch
        .get(IS_PAD)
        .row(index)
        .data.every((flag) => flag !== 0 && flag !== 0n)
    );
  }

  /** Numbers of the rows that are not padding. */
  validRows(): Int32Array {
    return cyclicIds(this.length, this.length).filter((row) => !this.isPadRow(row));
  }

  /**
   * [rows, …] → [newBatchSize, rows / newBatchSize, …]: consecutive rows become one. Tensors are views, column values become lists.
   * @throws VERL_BATCH_SPLIT unless `newBatchSize` divides the length.
   */
  foldBatchDim(newBatchSize: number): DataProto {
    if (
      !Number.isInteger(newBatchSize) ||
      newBatchSize < 0 ||
      (newBatchSize === 0 ? this.length > 0 : this.length % newBatchSize !== 0)
    ) {
      throw uneven(this.length, `${newBatchSize} folded rows`, newBatchSize);
    }
    const inner = newBatchSize === 0 ? 0 : this.length / newBatchSize;
    return this.#with(
      this.#batch.map((array) => array.reshape([newBatchSize, inner, ...array.rowShape])),
      mapColumns(this, (column) =>
        Array.from({ length: newBatchSize }, (_, i) => column.slice(i * inner, (i + 1) * inner)),
      ),
    );
  }

  /** The inverse of `foldBatchDim`: the first `batchDims` axes become one. Column values are lists, nested `batchDims` − 1 deep. */
  unfoldBatchDim(batchDims = 2): DataProto {
    return this.#with(
      this.#batch.map((array, key) => {
        if (array.shape.length < batchDims) {
          throw new VerlError(
            "VERL_BATCH_SHAPE",
            `Field "${key}" has ${array.shape.length} axes; ${batchDims} cannot be unfolded.`,
          );
        }
        const rows = array.shape.slice(0, batchDims).reduce((product, extent) => product * extent, 1);
        return array.reshape([rows, ...array.shape.slice(batchDims)]);
      }),
      mapColumns(this, (column) => column.flat(batchDims - 1)),
    );
  }

  /**
   * The named fields' second axis is cut in `chunks` parts, which become rows ([rows, chunks × k, …] → [rows × chunks, k, …], a
   * view); every other field and column repeats each row `chunks` times. @throws VERL_BATCH_SPLIT
   */
  unfoldColumnChunks(chunks: number, splitKeys: readonly string[]): DataProto {
    requirePositive("Number of column chunks", chunks);
    const cut = new Set(splitKeys);
    for (const key of cut) this.tensor(key);
    const ids = repeatedIds(this.length, chunks, true);
    return this.#with(
      this.#batch.map((array, key) => {
        if (!cut.has(key)) return array.gather(ids);
        const [rows = 0, width = 0, ...rest] = array.shape;
        if (width % chunks !== 0) throw uneven(width, `${chunks} column chunks of field "${key}"`, chunks);
        return array.reshape([rows * chunks, width / chunks, ...rest]);
      }),
      mapColumns(this, (column) => Array.from(ids, (row) => column[row])),
    );
  }

  /** Same tensors, values and metaInfo; NaN equals NaN, objects compare by value, key order does not matter. */
  equals(other: DataProto): boolean {
    return (
      this.#batch.equals(other.#batch) &&
      isDeepStrictEqual(this.#nonTensorBatch, other.#nonTensorBatch) &&
      isDeepStrictEqual(this.#metaInfo, other.#metaInfo)
    );
  }

  //ARROWWRITE

  #with(batch: TensorDict, nonTensorBatch: ReadonlyMap<string, Column>): DataProto {
    return new DataProto({ batch, nonTensorBatch, metaInfo: this.#metaInfo });
  }

  #gather(ids: RowIds): DataProto {
    return this.#with(
      this.#batch.gather(ids),
      mapColumns(this, (column) => Array.from(ids, (row) => column[row])),
    );
  }

  #fact(key: string): unknown {
    if (!Object.hasOwn(this.#metaInfo, key)) {
      throw new VerlError("VERL_BATCH_FIELD_MISSING", `metaInfo has no key "${key}".`, {
        hint: `It has ${quoteAll(Object.keys(this.#metaInfo))}.`,
      });
    }
    return this.#metaInfo[key];
  }
}

function hasFields(data: DataProto): boolean {
  return data.batch.size > 0 || data.nonTensorBatch.size > 0;
}

function allKeys(data: DataProto): string[] {
  return [...data.batch.keys(), ...data.nonTensorBatch.keys()];
}

function requireSameKeys(left: readonly string[], right: readonly string[]): void {
  const missing = left.find((key) => !right.includes(key)) ?? right.find((key) => !left.includes(key));
  if (missing === undefined) return;
  throw new VerlError(
    "VERL_BATCH_FIELD_MISSING",
    `Batches to concatenate have the same fields, but only some have "${missing}": one has ${quoteAll(left)}, another ${quoteAll(right)}.`,
    { hint: "select() the common ones, or add it to every part." },
  );
}

function uneven(rows: number, parts: string, divisor: number): VerlError {
  const below = Math.floor(rows / divisor) * divisor;
  return new VerlError(
    "VERL_BATCH_SPLIT",
    `${rows} rows do not make ${parts}; the nearest lengths that do are ${below} and ${below + divisor}.`,
    {
      hint: `Pad with padToDivisor(${divisor}), or allow uneven parts.`,
    },
  );
}

function mapColumns(data: DataProto, change: (column: Column, key: string) => Column): Map<string, Column> {
  return new Map([...data.nonTensorBatch].map(([key, column]) => [key, change(column, key)]));
}

/** The same batch with its flags written out, so that all parts have the field. */
function withPadFlags(data: DataProto): DataProto {
  if (data.batch.has(IS_PAD)) return data;
  const { batch, nonTensorBatch, metaInfo } = data;
  return new DataProto({ batch: [...batch, [IS_PAD, NdArray.zeros("bool", [data.length])]], nonTensorBatch, metaInfo });
}

function fromTyped(value: unknown): NdArray | undefined {
  if (value instanceof Float32Array) return new NdArray("float32", [value.length], value);
  if (value instanceof Int32Array) return new NdArray("int32", [value.length], value);
  if (value instanceof BigInt64Array) return new NdArray("int64", [value.length], value);
  if (value instanceof Uint8Array) return new NdArray("uint8", [value.length], value);
  return undefined;
}
