import * as tf from "@tensorflow/tfjs";

/** tfjs kernel of `cacheRowWrite`: inputs `cache`, `rows`, `position`; attribute `axis`. A backend may implement it. */
export const CACHE_ROW_WRITE = "CacheRowWrite";

/**
 * A key-value cache with `rows` written over it from `position` on: `cache[…, position + i, …] = rows[…, i, …]` along `axis`.
 *
 * It is functional, as every tfjs operation is. Where the backend has a kernel for it (`ort`), the cache is written in
 * place when nothing else reads the old one; elsewhere it is composed. No gradient through the kernel.
 *
 * @param cache for example [batch, heads, length, head size].
 * @param rows same shape but for `axis`, where it has the rows to write: [batch, heads, 1, head size].
 * @param position int32 scalar in [0, length − rows]. Being a tensor, another position needs no other graph.
 * @param axis counted from the front. Default: the last but one.
 */
export function cacheRowWrite(
  cache: tf.Tensor,
  rows: tf.Tensor,
  position: tf.Scalar,
  axis = cache.rank - 2,
): tf.Tensor {
  if (tf.getKernel(CACHE_ROW_WRITE, tf.getBackend()) !== undefined) {
    return tf.engine().runKernel(CACHE_ROW_WRITE, { cache, rows, position }, { axis });
  }
  return tf.tidy(() => composed(cache, rows, position, axis));
}

function composed(cache: tf.Tensor, rows: tf.Tensor, position: tf.Scalar, axis: number): tf.Tensor {
  const count = rows.shape[axis]!;
  const offset = tf.sub(tf.range(0, cache.shape[axis]!, 1, "int32"), position);
  const written = tf.logicalAnd(tf.greaterEqual(offset, 0), tf.less(offset, count));
  const along = cache.shape.map((dim, i) => (i === axis ? dim : 1));
  const spread = count === 1 ? rows : tf.gather(rows, tf.clipByValue(offset, 0, count - 1), axis);
  return tf.where(tf.reshape(written, along), spread, cache);
}
