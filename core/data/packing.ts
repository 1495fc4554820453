/**
 * Puts sequences into rows of at most `capacity` tokens, greedily: longest first, each into the first row with room. Needs at most
 * 11/9 of the fewest possible rows, and one more.
 * @returns for each row the numbers of its sequences, ascending; rows are ordered by their first sequence.
 * @throws RangeError when a sequence is longer than a row.
 */
export function packSequences(lengths: readonly number[], capacity: number): number[][] {
  const order = lengths.map((_, index) => index).sort((a, b) => lengths[b]! - lengths[a]! || a - b);
  const rows: { room: number; members: number[] }[] = [];
  for (const index of order) {
    const length = lengths[index]!;
    if (length > capacity)
      throw new RangeError(`Sequence ${index} has ${length} tokens, more than the ${capacity} of a row.`);
    let row = rows.find((candidate) => candidate.room >= length);
    if (row === undefined) {
      row = { room: capacity, members: [] };
      rows.push(row);
    }
    row.room -= length;
    row.members.push(index);
  }
  return rows.map((row) => row.members.sort((a, b) => a - b)).sort((a, b) => a[0]! - b[0]!);
}
