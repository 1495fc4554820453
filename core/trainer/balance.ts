import { balancedOrder } from "../batch/balance.ts";

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
