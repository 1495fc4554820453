/** Rows that answer the same prompt, as numbers instead of strings. */
export interface Groups {
  /** Group of each row, in order of first appearance; −1 for rows that are left out. */
  readonly of: Int32Array;
  /** Rows of each group. */
  readonly sizes: Int32Array;
}

/** @param uid group of each row. @param include rows to leave out hold 0; absent: all rows take part. */
export function groupRows(uid: readonly string[], include?: ArrayLike<number>): Groups {
  const numbers = new Map<string, number>();
  const sizes: number[] = [];
  const of = new Int32Array(uid.length).fill(-1);
  for (let row = 0; row < uid.length; row++) {
    if (include && include[row] === 0) continue;
    let group = numbers.get(uid[row]!);
    if (group === undefined) {
      group = numbers.size;
      numbers.set(uid[row]!, group);
      sizes.push(0);
    }
    of[row] = group;
    sizes[group]!++;
  }
  return { of, sizes: Int32Array.from(sizes) };
}

export interface GroupStatistics {
  readonly mean: Float64Array;
  /** Sample standard deviation (n − 1); 0 for groups of one and, exactly, for groups of equal values. */
  readonly std: Float64Array;
}

/** Mean and deviation of each group: two passes in float64, so that large means and equal values cost no digits. */
export function groupStatistics(values: ArrayLike<number>, { of, sizes }: Groups): GroupStatistics {
  const count = sizes.length;
  const mean = new Float64Array(count);
  const std = new Float64Array(count);
  const lowest = new Float64Array(count).fill(Infinity);
  const highest = new Float64Array(count).fill(-Infinity);
  for (let row = 0; row < of.length; row++) {
    const group = of[row]!;
    if (group < 0) continue;
    const value = values[row]!;
    mean[group]! += value;
    if (value < lowest[group]!) lowest[group] = value;
    if (value > highest[group]!) highest[group] = value;
  }
  for (let group = 0; group < count; group++) {
    // The mean of equal values is that value, whatever the sum was rounded to.
    mean[group] = lowest[group] === highest[group] ? lowest[group]! : mean[group]! / sizes[group]!;
  }
  for (let row = 0; row < of.length; row++) {
    const group = of[row]!;
    if (group >= 0) std[group]! += (values[row]! - mean[group]!) ** 2;
  }
  for (let group = 0; group < count; group++) {
    std[group] = sizes[group]! > 1 ? Math.sqrt(std[group]! / (sizes[group]! - 1)) : 0;
  }
  return { mean, std };
}
