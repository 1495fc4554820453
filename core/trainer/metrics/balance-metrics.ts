/**
 * verl's `global_seqlen/…`: token totals of the ranks if the rows were cut in their given order (`min`, `max`, `minmax_diff`) and as
 * they were balanced (`balanced_min`, `balanced_max`).
 * @param lengths tokens of each row; @param partitions row indices of each rank.
 */
export function computeBalanceMetrics(
  lengths: ArrayLike<number>,
  partitions: readonly ArrayLike<number>[],
  prefix = "global_seqlen",
): Record<string, number> {
  const ranks = partitions.length;
  const rows = Math.floor(lengths.length / ranks);
  const plain = partitions.map((_, rank) => {
    let total = 0;
    for (let row = rank * rows; row < (rank + 1) * rows; row++) total += lengths[row]!;
    return total;
  });
  const balanced = partitions.map((partition) => {
    let total = 0;
    for (let i = 0; i < partition.length; i++) total += lengths[partition[i]!]!;
    return total;
  });
  return {
    [`${prefix}/min`]: Math.min(...plain),
    [`${prefix}/max`]: Math.max(...plain),
    [`${prefix}/minmax_diff`]: Math.max(...plain) - Math.min(...plain),
    [`${prefix}/balanced_min`]: Math.min(...balanced),
    [`${prefix}/balanced_max`]: Math.max(...balanced),
    [`${prefix}/mean`]: balanced.reduce((sum, total) => sum + total, 0) / ranks,
  };
}
