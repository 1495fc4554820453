import { inspect, isDeepStrictEqual } from "node:util";
import { VerlError } from "../errors/verl-error.ts";
import { readArrow } from "./arrow-read.ts";
import { writeArrow } from "./arrow-write.ts";
import { requireKeyLists, requireOptions, requirePolicy } from "./call-options.ts";
import { foldRows, unfoldColumns, unfoldRows } from "./folding.ts";
import { concatMeta, mergeMeta, type ConflictPolicy, type MetaInfo } from "./meta-info.ts";
import { clampIndex, describe, isNdArray, NdArray, type DType, type DTypeArrays, type RowIds } from "./nd-array.ts";
import { IS_PAD, isPadRow, padRows, withFlags } from "./padding.ts";
import {
  allKeys,
  gatherRows,
  hasFields,
  mapColumns,
  requireDivides,
  sliceRows,
  type BatchParts,
  type Column,
} from "./parts.ts";
import {
  cyclicIds,
  repeatedIds,
  requirePositive,
  resolveIds,
  resolveOrder,
  sampleRepeatedIds,
  steppedIds,
  type RowSelection,
  type Shuffler,
} from "./row-ids.ts";
import { quoteAll, TensorDict, type TensorFields } from "./tensor-dict.ts";
import { uniteColumns, uniteTensors, unionSizes } from "./union.ts";

/** Columns by name. */
export type ColumnFields = Readonly<Record<string, Column>> | Iterable<readonly [string, Column]>;

/** One row: views of the tensors (without the batch axis), the values, and the batch's metaInfo. */
export interface DataProtoItem {
  readonly batch: ReadonlyMap<string, NdArray>;
  readonly nonTensorBatch: ReadonlyMap<string, unknown>;
  readonly metaInfo: MetaInfo;
}

/** What a batch is made of; parts that are left out are empty. */
export interface DataProtoParts {
  batch?: TensorDict | TensorFields;
  nonTensorBatch?: ColumnFields;
  metaInfo?: MetaInfo;
}

/** Which parts of a batch, by name. */
export interface DataProtoKeys {
  batchKeys?: readonly string[];
  nonTensorBatchKeys?: readonly string[];
  metaInfoKeys?: readonly string[];
}
const KEY_LISTS = [
  "batchKeys",
  "nonTensorBatchKeys",
  "metaInfoKeys",
] as const satisfies readonly (keyof DataProtoKeys)[];

/**
 * The batch that goes down the trainer's road: tensors, values of any kind, and facts about the whole. All parts have the same
 * number of rows. Methods return new batches and share memory with the old one where nothing had to move; only `pop` changes its
 * receiver, as its name says. A batch of no rows goes through every method.
 */
export class DataProto implements BatchParts {
  #batch: TensorDict;
  #nonTensorBatch: ReadonlyMap<string, Column>;
  #metaInfo: MetaInfo;

  /** @throws VERL_BATCH_SHAPE when the parts have different numbers of rows; VERL_BATCH_CONFLICT when a key is in both. */
  constructor(parts: DataProtoParts = {}) {
    requireOptions("new DataProto", parts, ["batch", "nonTensorBatch", "metaInfo"]);
    const { batch = {}, nonTensorBatch = {}, metaInfo = {} } = parts;
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
        throw new VerlError("VERL_BATCH_CONFLICT", `"${key}" is the name of a tensor and of a column.`, {
          hint: "rename() one of them.",
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
      const array = isNdArray(value) ? value : NdArray.fromTyped(value);
      if (array) batch.set(key, array);
      else if (Array.isArray(value)) nonTensorBatch.set(key, value as Column);
      else throw new VerlError("VERL_BATCH_FIELD_TYPE", `Field "${key}" is neither an array nor an NdArray.`);
    }
    return new DataProto({ batch, nonTensorBatch, metaInfo });
  }

  /** From tensors and columns apart: the constructor in verl's argument order. */
  static fromDict(tensors: TensorFields = {}, nonTensors: ColumnFields = {}, metaInfo: MetaInfo = {}): DataProto {
    return new DataProto({ batch: tensors, nonTensorBatch: nonTensors, metaInfo });
  }

  /**
   * Rows of all parts in order, copied. Parts have the same fields; those without any field are passed over; padding flags stay.
   * metaInfo: equal values merge, `metrics` of the parts become name → list, others go by `policy`.
   * @param options.into a batch that nobody reads any more: its memory is written again where a field fits. Fresh memory costs
   *   several times the copy itself, so a loop that concatenates the same shapes each step gains from it.
   * @throws VERL_BATCH_FIELD_MISSING, VERL_BATCH_SHAPE, VERL_BATCH_CONFLICT
   */
  static concat(parts: readonly DataProto[], options: { policy?: ConflictPolicy; into?: DataProto } = {}): DataProto {
    requireOptions("concat", options, ["policy", "into"]);
    const { policy = "error", into } = options;
    requirePolicy("concat", policy);
    const facts = parts.map((part) => part.metaInfo);
    const metaInfo = concatMeta(facts, policy);
    let filled = parts.filter(hasFields);
    if (filled.some((part) => part.batch.has(IS_PAD))) filled = filled.map((part) => part.#flagged());
    const [first] = filled;
    if (!first) return new DataProto({ metaInfo });
    for (const part of filled) requireSameKeys(first, part);
    const batch = first.batch.map((_, key) => {
      const arrays = filled.map((part) => part.batch.get(key));
      return NdArray.concat(arrays, into?.batch.has(key) ? into.batch.get(key) : undefined);
    });
    const nonTensorBatch = mapColumns(first, (_, key) => filled.flatMap((part) => [...part.column(key)]));
    return new DataProto({ batch, nonTensorBatch, metaInfo });
  }

  /**
   * Reads what `toArrow` wrote, or any Arrow IPC stream or file of one schema: numeric and fixed-size-list columns without nulls
   * become tensors, the rest columns. Tensors are views of `bytes` (of one copy, when `bytes` does not start on a multiple of 8).
   * Contents are checked; the layout (the stream's headers) is trusted, as Arrow's own reader trusts it: take bytes from one's own
   * workers and files, not from strangers.
   * @throws VERL_BATCH_ARROW for bytes that are cut short, compressed, contradict themselves, or hold a type that has no reading.
   */
  static fromArrow(bytes: Uint8Array): DataProto {
    const parts = readArrow(bytes).map((part) => new DataProto(part));
    return parts.length === 1 ? parts[0]! : DataProto.concat(parts);
  }

  /** Tensors: what has a shape. */
  get batch(): TensorDict {
    return this.#batch;
  }

  /** Columns: one value of any kind a row. */
  get nonTensorBatch(): ReadonlyMap<string, Column> {
    return this.#nonTensorBatch;
  }

  /** Facts about the batch as a whole. */
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
    if (column) return column;
    throw missing(`The batch has no column "${key}".`, [...this.#nonTensorBatch.keys()]);
  }

  /** Row `index`, as views. @throws VERL_BATCH_INDEX */
  row(index: number): DataProtoItem {
    resolveIds([index], this.length);
    return {
      batch: new Map(Array.from(this.#batch, ([key, array]) => [key, array.row(index)])),
      nonTensorBatch: new Map(Array.from(this.#nonTensorBatch, ([key, column]) => [key, column[index]])),
      metaInfo: this.#metaInfo,
    };
  }

  /**
   * The named parts, shared; an absent list means all of that part.
   * @throws VERL_BATCH_FIELD_MISSING for a key that does not exist, VERL_BATCH_ARGUMENT for an argument that is no such object.
   */
  select(keys: DataProtoKeys): DataProto {
    requireKeyLists("select", keys, KEY_LISTS);
    const { batchKeys, nonTensorBatchKeys, metaInfoKeys } = keys;
    const fields = new Set(batchKeys ?? this.#batch.keys());
    if (this.#batch.has(IS_PAD)) fields.add(IS_PAD);
    const columns = nonTensorBatchKeys ?? [...this.#nonTensorBatch.keys()];
    const facts = metaInfoKeys ?? Object.keys(this.#metaInfo);
    for (const key of facts) {
      if (!Object.hasOwn(this.#metaInfo, key)) throw missing(`metaInfo has no "${key}".`, Object.keys(this.#metaInfo));
    }
    return new DataProto({
      batch: this.#batch.select(fields),
      nonTensorBatch: columns.map((key) => [key, this.column(key)] as const),
      metaInfo: Object.fromEntries(facts.map((key) => [key, this.#metaInfo[key]])),
    });
  }

  /**
   * Takes the named parts out of this batch and returns them; an absent list takes nothing. Padding flags stay on both sides.
   * @throws VERL_BATCH_FIELD_MISSING, VERL_BATCH_ARGUMENT
   */
  pop(keys: DataProtoKeys): DataProto {
    requireKeyLists("pop", keys, KEY_LISTS);
    const { batchKeys = [], nonTensorBatchKeys = [], metaInfoKeys = [] } = keys;
    const taken = this.select({ batchKeys, nonTensorBatchKeys, metaInfoKeys });
    const rest = <T>(fields: Iterable<[string, T]>, gone: readonly string[]): [string, T][] =>
      [...fields].filter(([key]) => key === IS_PAD || !gone.includes(key));
    this.#batch = new TensorDict(rest(this.#batch, batchKeys));
    this.#nonTensorBatch = new Map(rest(this.#nonTensorBatch, nonTensorBatchKeys));
    this.#metaInfo = Object.fromEntries(rest(Object.entries(this.#metaInfo), metaInfoKeys));
    return taken;
  }

  /**
   * Fields of both, side by side, shared. The same key on both sides must hold equal values (NaN equals NaN, objects by value)
   * unless `policy` says whose to take. Neither operand changes.
   * @throws VERL_BATCH_SHAPE when the row counts differ; VERL_BATCH_CONFLICT naming the key and its first differing row.
   */
  union(other: DataProto, policy: ConflictPolicy = "error"): DataProto {
    requirePolicy("union", policy);
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
    const keys = allKeys(this);
    for (const key of Object.keys(names)) {
      if (!keys.includes(key)) throw missing(`The batch has no field "${key}" to rename.`, keys);
    }
    const next = (key: string): string => (Object.hasOwn(names, key) ? names[key]! : key);
    const taken = keys.map(next);
    const twice = taken.find((key, i) => taken.indexOf(key) !== i);
    if (twice !== undefined) {
      throw new VerlError("VERL_BATCH_CONFLICT", `Renaming would give two fields the name "${twice}".`);
    }
    return new DataProto({
      batch: Array.from(this.#batch, ([key, array]) => [next(key), array] as const),
      nonTensorBatch: Array.from(this.#nonTensorBatch, ([key, column]) => [next(key), column] as const),
      metaInfo: this.#metaInfo,
    });
  }

  /** Rows [start, end) in steps of `step`, as views; a step above 1 copies. Negative bounds count from the end. */
  slice(start = 0, end = this.length, step = 1): DataProto {
    const from = clampIndex(start, this.length);
    const to = Math.max(from, clampIndex(end, this.length));
    return step === 1 ? this.#with(sliceRows(this, from, to)) : this.#gather(steppedIds(from, to, step));
  }

  /** The rows of a list of row numbers, or those that a boolean mask keeps; copied. @throws VERL_BATCH_INDEX, VERL_BATCH_SHAPE */
  index(rows: RowSelection): DataProto {
    return this.#gather(resolveIds(rows, this.length));
  }

  /** The rows in another order. @param order each row number exactly once. @throws VERL_BATCH_INDEX */
  reorder(order: RowIds): DataProto {
    return this.#gather(resolveOrder(order, this.length));
  }

  /** Each row `times` times: a, a, b, b when interleaved (the default), else a, b, a, b. */
  repeat(times = 2, options: { interleave?: boolean } = {}): DataProto {
    requireOptions("repeat", options, ["interleave"]);
    const { interleave = true } = options;
    return this.#gather(repeatedIds(this.length, times, interleave));
  }

  /** Row i `times[i]` times. @throws VERL_BATCH_SHAPE unless there is one count a row. */
  sampleLevelRepeat(times: RowIds): DataProto {
    return this.#gather(sampleRepeatedIds(this.length, times));
  }

  /**
   * `count` parts in order, as views; the first `length % count` are one row longer (4, 3, 3), and some are empty when there are
   * fewer rows than parts. @param options.equal refuse uneven parts. @throws VERL_BATCH_SPLIT
   */
  chunk(count: number, options: { equal?: boolean } = {}): DataProto[] {
    requireOptions("chunk", options, ["equal"]);
    const { equal = false } = options;
    requirePositive("The number of chunks", count);
    if (equal) requireDivides(count, this.length, `${count} equal chunks`);
    const size = Math.floor(this.length / count);
    const longer = this.length % count;
    return Array.from({ length: count }, (_, i) => {
      const start = i * size + Math.min(i, longer);
      return this.slice(start, start + size + (i < longer ? 1 : 0));
    });
  }

  /** Parts of `size` rows, as views; the last one may be short. @param options.equal refuse a short one. @throws VERL_BATCH_SPLIT */
  split(size: number, options: { equal?: boolean } = {}): DataProto[] {
    requireOptions("split", options, ["equal"]);
    const { equal = false } = options;
    requirePositive("The size of a part", size);
    if (equal) requireDivides(size, this.length, `parts of ${size} rows`);
    return Array.from({ length: Math.ceil(this.length / size) }, (_, i) => this.slice(i * size, (i + 1) * size));
  }

  /**
   * Mini-batches of `miniBatchSize` rows, `epochs` times over; the last of an epoch may be short. In order they are views; with
   * `shuffle`, each epoch is a fresh permutation.
   * @param options.shuffle the seeded stream that orders the rows, for example `createRng(seed)`. Default: rows stay in order.
   * @param options.equal refuse a short mini-batch.
   */
  *makeIterator(
    miniBatchSize: number,
    options: { epochs?: number; shuffle?: Shuffler; equal?: boolean } = {},
  ): Generator<DataProto, void> {
    requireOptions("makeIterator", options, ["epochs", "shuffle", "equal"]);
    const { epochs = 1, shuffle, equal = false } = options;
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
    requirePositive("The divisor", divisor);
    const missingRows = this.length === 0 ? 0 : (divisor - (this.length % divisor)) % divisor;
    return missingRows === 0 ? this : this.#with(padRows(this, this.length, missingRows));
  }

  /** Without the rows that `padToDivisor` added, wherever they went since. */
  unpad(): DataProto {
    if (!this.#batch.has(IS_PAD)) return this;
    const valid = this.validRows();
    const inFront = valid.every((row, i) => row === i);
    const { batch, nonTensorBatch } = inFront ? sliceRows(this, 0, valid.length) : gatherRows(this, valid);
    return this.#with({ batch: batch.select(batch.keys().filter((key) => key !== IS_PAD)), nonTensorBatch });
  }

  /** True when row `index` was added by `padToDivisor`. */
  isPadRow(index: number): boolean {
    return isPadRow(this.#batch, index);
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
    return this.#with(foldRows(this, this.length, newBatchSize));
  }

  /** The inverse of `foldBatchDim`: the first `batchDims` axes become one, as views. @throws VERL_BATCH_SHAPE */
  unfoldBatchDim(batchDims = 2): DataProto {
    return this.#with(unfoldRows(this, batchDims));
  }

  /**
   * The second axis of the named fields is cut in `chunks` parts, which become rows ([rows, chunks × k, …] → [rows × chunks, k, …],
   * a view); every other field and column repeats each row `chunks` times. @throws VERL_BATCH_SPLIT, VERL_BATCH_FIELD_MISSING
   */
  unfoldColumnChunks(chunks: number, splitKeys: readonly string[]): DataProto {
    requirePositive("The number of column chunks", chunks);
    this.#batch.select(splitKeys);
    return this.#with(unfoldColumns(this, this.length, chunks, new Set(splitKeys)));
  }

  /** Same tensors, values and metaInfo; NaN equals NaN, objects compare by value, the order of keys does not matter. */
  equals(other: DataProto): boolean {
    return (
      this.#batch.equals(other.#batch) &&
      isDeepStrictEqual(this.#nonTensorBatch, other.#nonTensorBatch) &&
      isDeepStrictEqual(this.#metaInfo, other.#metaInfo)
    );
  }

  /**
   * One Arrow IPC stream: tensors as numbers or `arrow.fixed_shape_tensor`, columns as utf8, numbers, lists and structs where all
   * rows have one type, else as marked JSON; metaInfo as JSON in the schema's metadata. Any Arrow reader can read the columns.
   * @param options.into memory to write to, if it is large enough and starts on a multiple of 8; the result is then a view of it.
   * @throws VERL_BATCH_ARROW for a value that neither Arrow nor JSON has a place for (a function, say), naming column and row.
   */
  toArrow(options: { into?: Uint8Array } = {}): Uint8Array {
    requireOptions("toArrow", options, ["into"]);
    return writeArrow(this, options.into);
  }

  #with(parts: BatchParts): DataProto {
    return new DataProto({ batch: parts.batch, nonTensorBatch: parts.nonTensorBatch, metaInfo: this.#metaInfo });
  }

  #gather(ids: RowIds): DataProto {
    return this.#with(gatherRows(this, ids));
  }

  #flagged(): DataProto {
    return this.#with(withFlags(this, this.length));
  }

  /** Sizes, types and names: `DataProto(2 rows; prompts int32[2, 8]; columns uid; metaInfo global_steps)`. */
  toString(): string {
    const tensors = [...this.batch].map(([name, array]) => `${name} ${describe(array)}`);
    const columns = [...this.nonTensorBatch.keys()];
    const facts = Object.keys(this.metaInfo);
    const parts = [
      `${this.length} rows`,
      ...tensors,
      ...(columns.length > 0 ? [`columns ${columns.join(", ")}`] : []),
      ...(facts.length > 0 ? [`metaInfo ${facts.join(", ")}`] : []),
    ];
    return `DataProto(${parts.join("; ")})`;
  }

  /** What `console.log` shows. */
  [inspect.custom](): string {
    return this.toString();
  }
}

function missing(message: string, keys: readonly string[]): VerlError {
  return new VerlError("VERL_BATCH_FIELD_MISSING", message, { hint: `It has ${quoteAll(keys)}.` });
}

function requireSameKeys(left: BatchParts, right: BatchParts): void {
  const [mine, theirs] = [allKeys(left), allKeys(right)];
  const lone = mine.find((key) => !theirs.includes(key)) ?? theirs.find((key) => !mine.includes(key));
  if (lone === undefined) return;
  throw new VerlError(
    "VERL_BATCH_FIELD_MISSING",
    `Batches to concatenate have the same fields, but "${lone}" is missing in one: ${quoteAll(mine)} beside ${quoteAll(theirs)}.`,
    { hint: "select() the common fields, or add it to every part." },
  );
}
