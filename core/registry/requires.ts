import { VerlError } from "../errors/index.ts";
import { kindInfo } from "./kinds.ts";
import type { Registration } from "./store.ts";

/** What would bring a batch field: a sentence such as "set `algorithm.use_kl_in_reward=true`". */
export type FieldSuppliers = Readonly<Record<string, string>>;

/**
 * Checks, before the first step, that the run will have every batch field that its entries require.
 * @param inUse The entries that the config chose, as `registries[kind].find(key)` returns them.
 * @param available Fields that the run will have.
 * @param suppliers For fields that may be missing: what supplies them.
 * @throws VERL_FIELD_MISSING with every missing field, who asks for it, and what would supply it.
 */
export function checkRequires(
  inUse: Iterable<Registration>,
  available: Iterable<string>,
  suppliers: FieldSuppliers = {},
): void {
  const has = new Set(available);
  const missing = [...inUse].flatMap(({ kind, key, entry, source }) =>
    (entry.requires ?? []).filter((field) => !has.has(field)).map((field) => ({ kind, key, source, field })),
  );
  if (missing.length === 0) return;
  const sentences = missing.map(
    ({ kind, key, source, field }) =>
      `The ${kindInfo(kind).title} "${key}" (${source}) requires the batch field \`${field}\`, which this run does not have.`,
  );
  const fields = [...new Set(missing.map(({ field }) => field))];
  const supply = fields.map((field) =>
    suppliers[field] === undefined
      ? `\`${field}\`: no part of this run supplies it; a dataset column of that name or an agent loop's extra field would.`
      : `\`${field}\`: ${suppliers[field]}`,
  );
  throw new VerlError("VERL_FIELD_MISSING", sentences.join("\n"), {
    hint: supply.join("\n"),
    location: { path: kindInfo(missing[0]!.kind).selectedBy },
    details: { missing },
  });
}
