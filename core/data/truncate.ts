import type { Truncation } from "./dataset.ts";

/**
 * At most `limit` tokens of `ids`; the side that `truncation` names is cut away, and `middle` keeps both ends (the odd token at the
 * end). A sequence within the limit is returned as it is.
 */
export function truncateIds(ids: Int32Array, limit: number, truncation: Exclude<Truncation, "error">): Int32Array {
  if (ids.length <= limit) return ids;
  switch (truncation) {
    case "left":
      return ids.slice(ids.length - limit);
    case "right":
      return ids.slice(0, limit);
    case "middle": {
      const head = Math.floor(limit / 2);
      const kept = new Int32Array(limit);
      kept.set(ids.subarray(0, head));
      kept.set(ids.subarray(ids.length - (limit - head)), head);
      return kept;
    }
  }
}
