/** ‖actual − expected‖ / ‖expected‖; NaN where anything is not a number, unless both are. */
export function relativeError(actual: ArrayLike<number>, expected: ArrayLike<number>): number {
  if (actual.length !== expected.length) return NaN;
  let [off, norm] = [0, 0];
  for (let i = 0; i < expected.length; i++) {
    off += (actual[i]! - expected[i]!) ** 2;
    norm += expected[i]! ** 2;
  }
  return off === 0 ? 0 : Math.sqrt(off / norm);
}
