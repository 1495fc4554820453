import { VerlError } from "../errors/index.ts";
import type { EntryMeta } from "./entry.ts";
import { EVERY_RUN, OPTIONAL_FIELDS } from "./field-suppliers.ts";
import { KINDS, kindInfo, type Kind, type KindInfo } from "./kinds.ts";

type Fields = Readonly<Record<string, unknown>>;

/** What is looked at of an entry that takes a batch; estimators may have fields that their options name. */
type BatchEntry = EntryMeta & { fieldsOf?(options: unknown): readonly string[] };

type Call = (batch: Fields, config: Fields, ...rest: unknown[]) => unknown;

/** Entries with the check, by the entry and its key, so that the same entry stays the same. */
const CHECKED = new WeakMap<object, Map<string, object>>();

/**
 * The entry with functions that first look whether the batch has its fields, once a call: whoever calls them, trainer or not, learns
 * which one is missing, instead of what comes of `undefined`. Entries of kinds that take no batch stay as they are, and so does what
 * is no entry, which registration tells.
 */
export function askForFields<E>(kind: Kind, key: string, entry: E): E {
  const takes = (KINDS as Readonly<Record<string, KindInfo>>)[kind]?.takesBatch;
  if (takes === undefined || typeof entry !== "object" || entry === null) return entry;
  const ofEntry = CHECKED.get(entry) ?? new Map<string, object>();
  CHECKED.set(entry, ofEntry);
  const known = ofEntry.get(key);
  if (known !== undefined) return known as E;
  const checked = withChecks(kind, key, entry as unknown as BatchEntry, takes);
  ofEntry.set(key, checked);
  CHECKED.set(checked, new Map([[key, checked]]));
  return checked as E;
}

/** Whether an entry needs more of a batch than every entry of its kind. */
export const hasOwnFields = (entry: Partial<BatchEntry> | null | undefined): boolean =>
  entry?.requires !== undefined || entry?.fieldsOf !== undefined;

/** A copy, prototype and all, since an entry may be frozen or of a class; the functions run on the entry itself. */
function withChecks(kind: Kind, key: string, entry: BatchEntry, { members, fields }: Takes): object {
  const own = Object.getOwnPropertyDescriptors(entry) as PropertyDescriptorMap;
  for (const member of members) {
    const call = (entry as unknown as Fields)[member];
    if (typeof call !== "function") continue;
    const value: Call = (batch, config, ...rest) => {
      requireFields(kind, key, [...fields, ...fieldsOf(entry, config)], batch);
      return Reflect.apply(call, entry, [batch, config, ...rest]);
    };
    own[member] = { value, enumerable: true, configurable: true, writable: true };
  }
  return Object.create(Object.getPrototypeOf(entry) as object | null, own) as object;
}

type Takes = NonNullable<KindInfo["takesBatch"]>;

const fieldsOf = (entry: BatchEntry, config: Fields): readonly string[] => [
  ...(entry.requires ?? []),
  ...(entry.fieldsOf?.(config["adv_kwargs"]) ?? []),
];

/** @throws VERL_FIELD_MISSING with every missing field and what supplies it in a run. */
function requireFields(kind: Kind, key: string, fields: readonly string[], batch: Fields): void {
  if (fields.every((field) => batch[field] !== undefined)) return;
  const missing = [...new Set(fields.filter((field) => batch[field] === undefined))];
  const names = missing.map((field) => `\`${field}\``).join(" and without ");
  const supply = missing.map((field) => `\`${field}\`: ${suppliedBy(field)}`);
  throw new VerlError(
    "VERL_FIELD_MISSING",
    `The ${kindInfo(kind).title} "${key}" was called without ${names}, which it requires.`,
    {
      hint: `Whoever calls it hands over what the trainer would; where that has it from:\n${supply.join("\n")}`,
      location: { path: kindInfo(kind).selectedBy },
      details: { kind, key, missing },
    },
  );
}

const suppliedBy = (field: string): string =>
  EVERY_RUN[field] ??
  OPTIONAL_FIELDS[field] ??
  "a dataset column of that name, a part of the reward or an agent loop's extra field";
