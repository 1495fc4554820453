import { DataProto } from "../batch/data-proto.ts";
import { NdArray } from "../batch/nd-array.ts";
import type { Peers } from "../controller/peers.ts";
import type { Rng } from "../tensor/rng.ts";

/** Number of each row in the batch that a step trains on, whatever rank it lies on. It goes where the row goes, so that an error can name it. */
export const ROW_FIELD = "row_of_step";

export interface MiniBatchPlan {
  /** Rows of one optimizer step, over all ranks. */
  miniBatchRows: number;
  /** Passes over the batch. */
  epochs: number;
  /** Stream that the rows are shuffled by, anew in each pass; absent: in the order of their numbers. */
  shuffle?: Rng;
}

/** One rank's rows of a mini-batch. */
export interface MiniBatch {
  batch: DataProto;
  /** Place of each row in the whole mini-batch. */
  places: Int32Array;
}

/** The numbers of the rows of each mini-batch: the same on every rank, and for any number of ranks. */
export function* miniBatchRows(
  rows: number,
  { miniBatchRows: size, epochs, shuffle }: MiniBatchPlan,
): Generator<Int32Array> {
  for (let epoch = 0; epoch < epochs; epoch++) {
    const order = Int32Array.from({ length: rows }, (_, row) => row);
    shuffle?.shuffle(order);
    for (let start = 0; start < rows; start += size) yield order.subarray(start, start + size);
  }
}

/**
 * A rank's share of each mini-batch of a step, empty where none of its rows is in it. A mini-batch has the rows that it would have on
 * one rank, so that ranks change who computes a row and nothing else.
 * @param batch the rank's rows with their numbers in `ROW_FIELD`; without them, rows count on from rank to rank.
 */
export async function* miniBatches(batch: DataProto, plan: MiniBatchPlan, peers: Peers): AsyncGenerator<MiniBatch> {
  const counts = peers.worldSize === 1 ? [batch.length] : await peers.exchange(batch.length);
  const sum = (lengths: readonly number[]): number => lengths.reduce((total, length) => total + length, 0);
  const numbered = batch.batch.has(ROW_FIELD) ? batch : numberRows(batch, sum(counts.slice(0, peers.rank)));
  const own = new Map(Array.from(numbered.tensor(ROW_FIELD, "int32").data, (number, row) => [number, row]));
  for (const numbers of miniBatchRows(sum(counts), plan)) {
    const places = Int32Array.from(numbers.keys()).filter((place) => own.has(numbers[place]!));
    const rows = Int32Array.from(places, (place) => own.get(numbers[place]!)!);
    yield { batch: pick(numbered, rows), places };
  }
}

/** The batch with its rows numbered in their order. */
export function numberRows(batch: DataProto, first = 0): DataProto {
  const numbers = Int32Array.from({ length: batch.length }, (_, row) => first + row);
  return batch.union(
    DataProto.fromSingleDict({ [ROW_FIELD]: new NdArray("int32", [batch.length], numbers) }),
    "replace",
  );
}

/** Views where the rows lie side by side. */
function pick(batch: DataProto, rows: Int32Array): DataProto {
  const [first = 0] = rows;
  return rows.every((row, i) => row === first + i) ? batch.slice(first, first + rows.length) : batch.index(rows);
}
