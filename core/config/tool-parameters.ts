import { Ajv, type Options, type ValidateFunction } from "ajv";
import { Ajv2019 } from "ajv/dist/2019.js";
import { Ajv2020 } from "ajv/dist/2020.js";
import { nearest, quotedAlternatives } from "../registry/nearest.ts";
import { optionOf } from "../registry/options-schema.ts";
import { schemaPattern, type SchemaPattern } from "./schema-pattern.ts";

const ANYTHING: SchemaPattern = { test: () => true };
/** `code` is for validators that are written to files, which none of these is. */
const regExp = Object.assign((pattern: string) => schemaPattern(pattern) ?? ANYTHING, { code: "" });

// Formats are for the model to read; Ajv's strict rules are for schemas of plugins' options.
const OPTIONS: Options = { strict: false, allErrors: false, validateFormats: false, verbose: true, code: { regExp } };

/** Dialects by a part of their address; Ajv itself knows each by one spelling alone. What names none is read as draft 7. */
const DIALECTS: readonly (readonly [part: string, create: () => Ajv])[] = [
  ["/2020-12/", () => new Ajv2020(OPTIONS)],
  ["/2019-09/", () => new Ajv2019(OPTIONS)],
  ["/draft-07/", () => new Ajv(OPTIONS)],
  ["/draft-06/", () => new Ajv(OPTIONS)],
];

/**
 * The validator of a tool's parameters, by the JSON Schema that their `$schema` names. Each has an Ajv of its own, as tools of several
 * hands may have one `$id`.
 * @throws Error where they are no JSON Schema, or refer to a schema elsewhere
 */
export function compileParameters(parameters: object): ValidateFunction {
  const { ajv = new Ajv(OPTIONS), schema } = dialectOf(parameters);
  return ajv.compile(schema);
}

/** What makes a tool's parameters no JSON Schema, as sentences; undefined: nothing, or their `$schema` is none that is known. */
export function parametersFault(parameters: object): string | undefined {
  const { ajv, schema } = dialectOf(parameters);
  if (ajv === undefined || ajv.validateSchema(schema) === true) return undefined;
  const error = ajv.errors![0]!;
  const { message = "is not valid", params, data } = error;
  const allowed = (params as { allowedValues?: readonly unknown[] }).allowedValues?.map(String);
  const meant = allowed === undefined ? [] : nearest(String(data), allowed);
  return [
    `\`${optionOf(error)}\` ${message}${allowed === undefined ? "" : `: ${allowed.join(", ")}`}.`,
    ...(meant.length > 0 ? [`Did you mean ${quotedAlternatives(meant)}?`] : []),
  ].join(" ");
}

function dialectOf(parameters: object): { ajv: Ajv | undefined; schema: Record<string, unknown> } {
  const { $schema: dialect = "/draft-07/", ...schema } = parameters as Record<string, unknown>;
  const found = DIALECTS.find(([part]) => String(dialect).includes(part));
  return { ajv: found?.[1](), schema };
}
