import { isDeepStrictEqual } from "node:util";
import { VerlError } from "../errors/verl-error.ts";

/** Facts about a batch as a whole. */
export type MetaInfo = Readonly<Record<string, unknown>>;

/** What happens when both operands have a key with different values: refuse, keep the left one, or take the right one. */
export type ConflictPolicy = "error" | "keep" | "replace";

/** Key whose values concat collects to lists instead of comparing them. */
const METRICS = "metrics";

/** Keys of both; equal values merge, others by `policy`. @throws VERL_BATCH_CONFLICT */
export function mergeMeta(left: MetaInfo, right: MetaInfo, policy: ConflictPolicy): MetaInfo {
  const merged = new Map(Object.entries(left));
  for (const [key, value] of Object.entries(right)) {
    if (merged.has(key) && !isDeepStrictEqual(merged.get(key), value)) {
      if (policy === "keep") continue;
      if (policy === "error") throw conflict(key, merged.get(key), value);
    }
    merged.set(key, value);
  }
  return Object.fromEntries(merged);
}

/** As `mergeMeta` over all parts, but `metrics` becomes name → list of every part's values. */
export function concatMeta(parts: readonly MetaInfo[], policy: ConflictPolicy): MetaInfo {
  const merged = parts
    .map(({ [METRICS]: _metrics, ...rest }): MetaInfo => rest)
    .reduce((left, right) => mergeMeta(left, right, policy), {});
  const reports = parts.flatMap((part) => part[METRICS] ?? []) as Record<string, unknown>[];
  if (reports.length === 0) return merged;
  const lists = new Map<string, unknown[]>();
  for (const report of reports) {
    for (const [name, value] of Object.entries(report)) {
      lists.set(name, (lists.get(name) ?? []).concat(value));
    }
  }
  return { ...merged, [METRICS]: Object.fromEntries(lists) };
}

function conflict(key: string, left: unknown, right: unknown): VerlError {
  return new VerlError(
    "VERL_BATCH_CONFLICT",
    `metaInfo key "${key}" has the value ${show(left)} on the left and ${show(right)} on the right.`,
    { hint: 'Drop one of them, or pass the conflict policy "keep" (left) or "replace" (right).' },
  );
}

/** A value in a message, cut to a readable length. */
export function show(value: unknown): string {
  const text = typeof value === "string" ? JSON.stringify(value) : String(JSON.stringify(value, jsonSafe) ?? value);
  return text.length > 60 ? `${text.slice(0, 57)}...` : text;
}

function jsonSafe(_key: string, value: unknown): unknown {
  return typeof value === "bigint" ? `${value}n` : value;
}
