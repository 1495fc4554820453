/** How several values of one metric in one step become one. */
export type Reduction = "mean" | "sum" | "min" | "max";

const BY_LAST_WORD: Readonly<Record<string, Reduction>> = {
  max: "max",
  min: "min",
  mean: "mean",
  sum: "sum",
  total: "sum",
  count: "sum",
};

/**
 * The reduction that a metric's name asks for: `max` or `min` where that is the first or last word of the last path segment
 * (`critic/score/max`, `rollout_corr/rollout_is_max`, `perf/max_memory_allocated_gb`), `sum` where the last word is `sum`, `total`
 * or `count` and for other `timing_s/…`, else `mean`. Whole words decide: `admin/loss` and `minmax_diff` are means, where verl,
 * which looks for the letters anywhere in the name, takes the minimum and the maximum.
 */
export function reductionOf(name: string): Reduction {
  const words = name.slice(name.lastIndexOf("/") + 1).split(/[_.\-@ ]/);
  const last = BY_LAST_WORD[words.at(-1)!];
  if (last) return last;
  if (name.startsWith("timing_s/")) return "sum";
  const first = words[0];
  return first === "max" || first === "min" ? first : "mean";
}
