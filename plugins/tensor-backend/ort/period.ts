/**
 * Length of the shortest run that the end of `sequence` repeats at least twice, taking the longest such end; 0 when there
 * is none. A loop's operations repeat from one iteration to the next, however its first iteration began.
 *
 * Knuth, Morris and Pratt's failure function, over the sequence read backwards: linear in its length.
 */
export function periodOf(sequence: readonly number[]): number {
  const { length } = sequence;
  const at = (i: number): number => sequence[length - 1 - i]!;
  const border = new Int32Array(length);
  let period = 0;
  for (let i = 1; i < length; i++) {
    let matched = border[i - 1]!;
    while (matched > 0 && at(i) !== at(matched)) matched = border[matched - 1]!;
    if (at(i) === at(matched)) matched++;
    border[i] = matched;
    const candidate = i + 1 - matched;
    if (2 * candidate <= i + 1) period = candidate;
  }
  return period;
}
