import { balancedOrder, inverseOrder } from "../batch/balance.ts";
import type { DataProto } from "../batch/data-proto.ts";
import type { Rng } from "../tensor/rng.ts";
import { miniBatchRows, numberRows } from "./mini-batches.ts";

/**
 * Order of rows in which `ranks` consecutive equal chunks have nearly equal work, and each mini-batch has the rows that it would have
 * had: it is spread over the ranks by itself, and each rank takes its shares in their order. Balancing thus changes who computes a row,
 * not which optimizer step it belongs to (where the ranks divide the rows).
 * @param lengths tokens of each row. @param miniBatchRows rows of one optimizer step, over all ranks.
 */
export function rankOrder(lengths: ArrayLike<number>, ranks: number, miniBatchRows: number): Int32Array {
  const shares = Array.from({ length: ranks }, (): number[] => []);
  for (let start = 0; start < lengths.length; start += miniBatchRows) {
    const own = Array.from(
      { length: Math.min(miniBatchRows, lengths.length - start) },
      (_, row) => lengths[start + row]!,
    );
    // A rest of fewer rows than ranks leaves some of them without.
    const sharers = Math.min(ranks, own.length);
    const order = balancedOrder(own, sharers);
    // The longer shares come first, as `balancedOrder` lays them out.
    const [size, longer] = [Math.floor(own.length / sharers), own.length % sharers];
    for (let rank = 0, at = 0; rank < sharers; rank++) {
      const end = at + size + (rank < longer ? 1 : 0);
      for (; at < end; at++) shares[rank]!.push(start + order[at]!);
    }
  }
  return Int32Array.from(shares.flat());
}

/** How rows are laid out for the ranks. */
export interface RankLayout {
  ranks: number;
  /** False: in the batch's order. */
  balance: boolean;
  /** Rows of one optimizer step, over all ranks. */
  miniBatchRows: number;
}

/**
 * Computes something of every row with the rows laid out so that each rank has about the same work, and gives it back in the batch's
 * own order: nothing downstream sees how many ranks there were.
 */
export async function inRankOrder(
  batch: DataProto,
  { ranks, balance, miniBatchRows }: RankLayout,
  compute: (rows: DataProto) => PromiseLike<DataProto>,
): Promise<DataProto> {
  if (ranks === 1 || !balance || batch.length < ranks) return compute(batch);
  const order = rankOrder(totalLengths(batch), ranks, miniBatchRows);
  return (await compute(batch.reorder(order))).reorder(inverseOrder(order));
}

/**
 * The batch as the ranks train on it: its rows numbered, so that mini-batches are those of one rank, and laid out so that each rank
 * has an equal part of each of the first epoch's.
 * @param shuffle the stream that the mini-batches are drawn by.
 */
export function forUpdate(
  batch: DataProto,
  { ranks, balance, miniBatchRows: size }: RankLayout,
  shuffle?: Rng,
): DataProto {
  const numbered = numberRows(batch);
  if (ranks === 1 || !balance || batch.length < ranks) return numbered;
  const drawn = Int32Array.from(
    [...miniBatchRows(batch.length, { miniBatchRows: size, epochs: 1, shuffle })].flatMap((rows) => [...rows]),
  );
  const lengths = totalLengths(batch);
  const order = rankOrder(
    Int32Array.from(drawn, (row) => lengths[row]!),
    ranks,
    size,
  );
  return numbered.reorder(order.map((place) => drawn[place]!));
}

/** Attended tokens of each row, prompt and response. */
export function totalLengths(batch: DataProto): Int32Array {
  const mask = batch.tensor("attention_mask", "int32");
  return Int32Array.from({ length: mask.rows }, (_, row) => mask.row(row).data.reduce((sum, flag) => sum + flag, 0));
}
