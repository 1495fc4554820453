import type { ErrorObject } from "ajv";
import type { JSONSchema7 } from "json-schema";
import { VerlError, type ErrorLocation } from "../errors/index.ts";
import { inNameOf } from "./in-name-of.ts";
import { kindInfo, type Kind } from "./kinds.ts";
import { nearest, quotedAlternatives } from "./nearest.ts";
import { optionOf, validatorOf } from "./options-schema.ts";
import { registries } from "./registries.ts";

/** Where the option at a dotted path (below the kind's `optionsAt`) was written. */
export type LocateOption = (option: string) => ErrorLocation | undefined;

export interface OptionProblem {
  /** Dotted name of the option. */
  option: string;
  message: string;
  location?: ErrorLocation;
}

/**
 * The options of the entry under `key`: `given`, validated by the entry's own schema and `checkOptions`, with defaults filled in. `given` is not written.
 * @throws VERL_REGISTRY_KEY_UNKNOWN; VERL_OPTIONS_INVALID with every problem, each naming the option and what is allowed.
 */
export function resolveOptions(
  kind: Kind,
  key: string,
  given: Readonly<Record<string, unknown>> | null | undefined,
  locate?: ErrorLocation | LocateOption,
): Record<string, unknown> {
  const at: LocateOption = typeof locate === "function" ? locate : () => locate;
  const { entry, key: canonical } = registries[kind].find(key, at(""));
  const { title, optionsAt } = kindInfo(kind);
  const schema: JSONSchema7 = entry.optionsSchema ?? { type: "object", additionalProperties: false };
  const options = ownOptions(kind, schema, given ?? {});
  const validate = validatorOf(schema);
  const faults = validate(options)
    ? [inNameOf(kind, canonical, () => entry.checkOptions?.(options))].filter((fault) => fault !== undefined)
    : (validate.errors ?? []).map((error) => ({
        option: optionOf(error),
        message: problemText(error, schema, title, canonical),
      }));
  if (faults.length === 0) return options;

  const problems = faults.map(({ option, message }): OptionProblem => {
    const location = { ...(optionsAt && { path: option ? `${optionsAt}.${option}` : optionsAt }), ...at(option) };
    return { option, message, location };
  });
  const [first] = problems;
  const message =
    problems.length === 1
      ? first!.message
      : `${problems.length} options of the ${title} "${canonical}" are not valid:\n${problems.map((problem) => `- ${problem.message}`).join("\n")}`;
  throw new VerlError("VERL_OPTIONS_INVALID", message, {
    hint: `Run \`verl info ${kind} ${canonical}\` for its options.`,
    location: first?.location,
    details: { kind, key: canonical, problems },
  });
}

/** A copy of `given` without what is not an option of this entry by right: the selecting key, and, in a shared section, other entries' options. */
function ownOptions(
  kind: Kind,
  schema: JSONSchema7,
  given: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const { selectedBy, optionsAt, sharedOptions } = kindInfo(kind);
  const selector = selectedBy?.startsWith(`${optionsAt}.`)
    ? selectedBy.slice(selectedBy.lastIndexOf(".") + 1)
    : undefined;
  const own = schema.properties ?? {};
  const foreign = new Set(
    sharedOptions
      ? registries[kind].registrations().flatMap(({ entry }) => Object.keys(entry.optionsSchema?.properties ?? {}))
      : [],
  );
  const kept = Object.entries(given).filter(([name]) => name in own || !(name === selector || foreign.has(name)));
  return structuredClone(Object.fromEntries(kept));
}

function problemText(error: ErrorObject, schema: JSONSchema7, title: string, key: string): string {
  const option = optionOf(error);
  const value = JSON.stringify(error.data);
  const params = error.params as Record<string, unknown>;
  switch (error.keyword) {
    case "additionalProperties": {
      const known = Object.keys((error.parentSchema?.["properties"] as object | undefined) ?? {});
      const meant = nearest(option.slice(option.lastIndexOf(".") + 1), known);
      const allowed = known.length === 0 ? "It takes none." : `Its options are ${known.sort().join(", ")}.`;
      return `The ${title} "${key}" has no option \`${option}\`. ${meant.length > 0 ? `Did you mean ${quotedAlternatives(meant)}? ` : ""}${allowed}`;
    }
    case "required":
      return `The ${title} "${key}" needs the option \`${option}\`${describe(schema, option)}.`;
    case "enum": {
      const allowed = (params["allowedValues"] as unknown[]).map((allowedValue) => JSON.stringify(allowedValue));
      const meant = nearest(
        String(error.data),
        (params["allowedValues"] as unknown[]).filter((allowedValue) => typeof allowedValue === "string"),
      );
      return `\`${option}\` is ${value}; allowed are ${allowed.join(", ")}.${meant.length > 0 ? ` Did you mean ${quotedAlternatives(meant)}?` : ""}`;
    }
    case "type":
      return `\`${option}\` is ${value}; it must be of type ${[params["type"]].flat().join(" or ")}.`;
    default:
      return `\`${option}\` is ${value}; it ${error.message}.`;
  }
}

function describe(schema: JSONSchema7, option: string): string {
  const property = schema.properties?.[option];
  return typeof property === "object" && property.description ? ` (${property.description.replace(/\.$/, "")})` : "";
}
