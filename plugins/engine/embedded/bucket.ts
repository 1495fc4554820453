/**
 * The size to which an extent is padded so that compiled graphs are used again: exact up to 8, then four sizes an octave
 * (10, 12, 14, 16, 20, 24, …), which wastes a tenth on average.
 */
export function bucket(extent: number): number {
  if (extent <= 8) return extent;
  const step = 2 ** (Math.floor(Math.log2(extent - 1)) - 2);
  return Math.ceil(extent / step) * step;
}
