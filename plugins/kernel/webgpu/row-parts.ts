import type * as tf from "@tensorflow/tfjs";
import type { Gpu, Slice } from "./dispatch.ts";

/** Rows of a matrix that one binding can hold. */
export interface RowPart {
  readonly first: number;
  readonly rows: number;
  /** Cuts the part's bytes out of a matrix of that many bytes a row. */
  slice(matrix: tf.TensorInfo): Slice;
}

/**
 * Cuts a matrix into row ranges that fit the device's largest binding, each starting at an allowed offset.
 * @param limit bytes of one binding; for tests. Default: the device's.
 */
export function rowParts(gpu: Gpu, rows: number, bytesPerRow: number, limit = gpu.bindingLimit): RowPart[] {
  // The fewest rows whose bytes are a multiple of the alignment, which is a power of two.
  let step = 1;
  while ((step * bytesPerRow) % gpu.storageAlignment !== 0) step *= 2;
  const whole = rows * bytesPerRow <= limit;
  const most = whole ? rows : Math.max(step, Math.floor(limit / bytesPerRow / step) * step);
  const parts: RowPart[] = [];
  for (let first = 0; first < rows; first += most) {
    const count = Math.min(most, rows - first);
    const slice = (tensor: tf.TensorInfo): Slice =>
      whole ? { tensor } : { tensor, offset: first * bytesPerRow, size: count * bytesPerRow };
    parts.push({ first, rows: count, slice });
  }
  return parts;
}
