import type { JSONSchema7 } from "json-schema";
import { isVerlError } from "../errors/index.ts";
import { resolveOptions, type EntryMeta, type Kind } from "../registry/index.ts";
import { Violation, type Property } from "./property.ts";

/** What the properties of an entry's own data look at; every kind's subject has it. */
export interface EntrySubject {
  readonly kind: Kind;
  readonly key: string;
  readonly entry: EntryMeta;
  readonly options: Readonly<Record<string, unknown>>;
}

const SENTENCE = /^\S[^]*[.)]$/;

/** Description, meaning of metrics and departures are sentences: the docs consist of them. */
export const describesItself: Property<EntrySubject> = {
  name: "it describes itself in sentences",
  check({ entry }) {
    const texts: [string, string][] = [
      ["description", entry.description],
      ...Object.entries(entry.metrics ?? {}).map(([name, meaning]): [string, string] => [
        `metrics["${name}"]`,
        meaning,
      ]),
      ...(entry.departures ?? []).map((text, index): [string, string] => [`departures[${index}]`, text]),
    ];
    const odd = texts.find(([, text]) => !SENTENCE.test(text));
    if (odd) throw new Violation(`\`${odd[0]}\` is ${JSON.stringify(odd[1])}, not a sentence with its full stop`);
  },
};

/** Names that no author chooses. */
const UNKNOWN_OPTION = "no_such_option_of_anyone";

export const optionsAreChecked: Property<EntrySubject> = {
  name: "options are documented and checked",
  check({ kind, key, entry, options }) {
    const bare = undocumented(entry.optionsSchema);
    if (bare !== undefined) throw new Violation(`the option \`${bare}\` has no description`);
    resolveOptions(kind, key, options);
    try {
      resolveOptions(kind, key, { ...options, [UNKNOWN_OPTION]: 1 });
    } catch (error) {
      if (isVerlError(error) && error.code === "VERL_OPTIONS_INVALID") return;
      throw error;
    }
    throw new Violation(`the unknown option \`${UNKNOWN_OPTION}\` is accepted, so a slip of the pen would be too`);
  },
};

/** Dotted name of the first option, at any depth, without a description. */
function undocumented(schema: JSONSchema7 | undefined, path = ""): string | undefined {
  for (const [name, property] of Object.entries(schema?.properties ?? {})) {
    if (typeof property === "boolean" || !property.description) return `${path}${name}`;
    const inner = undocumented(property, `${path}${name}.`);
    if (inner !== undefined) return inner;
  }
  return undefined;
}
