import { VerlError } from "../errors/index.ts";
import type { EntryMeta, Injectable } from "./entry.ts";
import { kindInfo, type Kind } from "./kinds.ts";
import { methodsMissingFromClass, methodsMissingFromInstance } from "./missing-methods.ts";
import { nearest } from "./nearest.ts";
import { schemaFaults } from "./options-schema.ts";
import type { Registration } from "./store.ts";

const META = [
  "description",
  "paper",
  "aliases",
  "requires",
  "optionsSchema",
  "checkOptions",
  "metrics",
  "departures",
] as const;

const isText = (value: unknown): boolean => typeof value === "string" && value.trim() !== "";
const isTexts = (value: unknown): boolean => Array.isArray(value) && value.every(isText);
const isTable = (value: unknown): boolean =>
  typeof value === "object" && value !== null && !Array.isArray(value) && Object.values(value).every(isText);

const RULES: Record<
  Exclude<(typeof META)[number], "description" | "optionsSchema">,
  [test: (value: unknown) => boolean, want: string]
> = {
  paper: [isText, "a non-empty string"],
  aliases: [isTexts, "an array of keys"],
  requires: [isTexts, "an array of batch fields"],
  checkOptions: [(value) => typeof value === "function", "a function of the options"],
  metrics: [isTable, "an object of metric name → meaning"],
  departures: [isTexts, "an array of sentences"],
};

/** @throws VERL_ENTRY_META_INVALID, naming the plugin, when an entry lacks or misspells what `EntryMeta` asks. */
export function checkEntry(kind: Kind, key: string, entry: unknown, source: string): asserts entry is EntryMeta {
  const of = { kind, key, source };
  const fault = entryFault(kind, entry);
  if (fault !== undefined) throw invalid(of, fault);
  const misspelt = misspelling(kind, entry as object);
  if (misspelt !== undefined) throw invalid(of, `has \`${misspelt.name}\`, which means nothing`, misspelt.meant);
}

/** Methods may be fields, which a class does not show before it is constructed. @throws VERL_ENTRY_META_INVALID */
export function checkInstance(of: Pick<Registration, "kind" | "key" | "source">, instance: object): void {
  const missing = methodsMissingFromInstance(of.kind, instance);
  if (missing.length > 0) throw invalid(of, lacks(missing));
}

function invalid(
  { kind, key, source }: Pick<Registration, "kind" | "key" | "source">,
  what: string,
  meant?: string,
): VerlError {
  const question = meant === undefined ? "" : `Did you mean "${meant}"? `;
  return new VerlError("VERL_ENTRY_META_INVALID", `The ${kindInfo(kind).title} "${key}" of ${source} ${what}.`, {
    hint: `${question}This is for the author of ${source} to mend.`,
    location: { plugin: source },
    details: { kind, key },
  });
}

const lacks = (methods: readonly string[]): string =>
  `has no method ${methods.map((name) => `\`${name}\``).join(" and no ")}`;

function entryFault(kind: Kind, entry: unknown): string | undefined {
  if (typeof entry !== "object" || entry === null) return `is ${entry === null ? "null" : typeof entry}, not an object`;
  const fields = entry as Readonly<Record<string, unknown>>;
  if (!isText(fields["description"])) return "has no `description`; one sentence is asked";
  for (const [name, [test, want]] of Object.entries(RULES)) {
    if (fields[name] !== undefined && !test(fields[name])) return `has \`${name}\` that is not ${want}`;
  }
  const { members, methods } = kindInfo(kind);
  const missing = members.find((name) => typeof fields[name] !== "function");
  if (missing !== undefined) return `has no function \`${missing}\``;
  if (methods !== undefined) {
    const create = fields["create"] as Injectable<object>;
    if (typeof create.prototype !== "object") return "has a `create` that is not a class";
    const lacking = methodsMissingFromClass(kind, create);
    if (lacking.length > 0) return lacks(lacking);
  }
  return undefined;
}

/** An entry may have fields of its own, but none that looks like one of `EntryMeta`. */
function misspelling(kind: Kind, entry: object): { name: string; meant: string } | undefined {
  for (const name of Object.keys(entry)) {
    if ([...META, ...kindInfo(kind).members].includes(name)) continue;
    const [meant] = nearest(name, META, 1);
    if (meant !== undefined) return { name, meant };
  }
  return undefined;
}

/** @throws VERL_ENTRY_SCHEMA_INVALID, naming the plugin, when `optionsSchema` does not compile or breaks the rules of `EntryMeta`. */
export function checkSchema(kind: Kind, key: string, entry: EntryMeta, source: string): void {
  if (entry.optionsSchema === undefined) return;
  const faults = schemaFaults(entry.optionsSchema);
  if (faults.length === 0) return;
  throw new VerlError(
    "VERL_ENTRY_SCHEMA_INVALID",
    `The options schema of the ${kindInfo(kind).title} "${key}" of ${source} is not valid: ${faults.join("; ")}.`,
    {
      hint: `This is for the author of ${source} to mend.`,
      location: { plugin: source },
      details: { kind, key, faults },
    },
  );
}
