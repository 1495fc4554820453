import { Ajv, type Options, type ValidateFunction } from "ajv";
import { Ajv2019 } from "ajv/dist/2019.js";
import { Ajv2020 } from "ajv/dist/2020.js";
import { nearest, quotedAlternatives } from "../registry/nearest.ts";
import { optionOf } from "../registry/options-schema.ts";
import { changeSchemas } from "./nested-schemas.ts";
import { schemaPattern, type SchemaPattern } from "./schema-pattern.ts";

const ANYTHING: SchemaPattern = { test: () => true };
/** `code` is for validators that are written to files, which none of these is. */
const regExp = Object.assign((pattern: string) => schemaPattern(pattern) ?? ANYTHING, { code: "" });

// Formats are for the model to read; Ajv's strict rules are for schemas of plugins' options.
const OPTIONS: Options = { strict: false, allErrors: false, validateFormats: false, verbose: true, code: { regExp } };

type Schema = Readonly<Record<string, unknown>>;

interface Dialect {
  /** Of its address; Ajv itself knows each by one spelling alone. */
  readonly part: string;
  readonly create: () => Ajv;
}

const NEWEST: Dialect = { part: "/2020-12/", create: () => new Ajv2020(OPTIONS) };
const DRAFT_7: Dialect = { part: "/draft-07/", create: () => new Ajv(OPTIONS) };
const DIALECTS: readonly Dialect[] = [
  NEWEST,
  { part: "/2019-09/", create: () => new Ajv2019(OPTIONS) },
  DRAFT_7,
  { part: "/draft-06/", create: () => new Ajv(OPTIONS) },
];

/** Of each dialect, one that schemas are checked by, which it does not keep. */
const checkers = new Map<Dialect, Ajv>();

/**
 * The validator of a tool's parameters, by the JSON Schema that their `$schema` names, or that they are written in. Each has an Ajv of its
 * own, as tools of several hands may have one `$id`.
 * @throws Error where they are no JSON Schema, or refer to a schema elsewhere
 */
export function compileParameters(parameters: object): ValidateFunction {
  const { dialect = DRAFT_7, schema } = dialectOf(parameters);
  return dialect.create().compile(changeSchemas(schema, withoutNullable));
}

/** What makes a tool's parameters no JSON Schema, as sentences; undefined: nothing, or their `$schema` is none that is known. */
export function parametersFault(parameters: object): string | undefined {
  const { dialect, schema } = dialectOf(parameters);
  const ajv = dialect && checkerOf(dialect);
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

function checkerOf(dialect: Dialect): Ajv {
  let ajv = checkers.get(dialect);
  if (ajv === undefined) checkers.set(dialect, (ajv = dialect.create()));
  return ajv;
}

function dialectOf(parameters: object): { dialect: Dialect | undefined; schema: Schema } {
  const { $schema: address, ...schema } = parameters as Schema;
  if (address === undefined) return { dialect: writtenIn(schema), schema };
  return { dialect: DIALECTS.find(({ part }) => typeof address === "string" && address.includes(part)), schema };
}

/** By words that only one dialect has. With neither's, draft 7 says the same as the newest. */
function writtenIn(schema: Schema): Dialect {
  let [hasNewWords, hasOldWords] = [false, false];
  changeSchemas(schema, (one) => {
    hasNewWords ||= "prefixItems" in one || "$defs" in one;
    hasOldWords ||= Array.isArray(one["items"]);
    return one;
  });
  return hasNewWords && !hasOldWords ? NEWEST : DRAFT_7;
}

/** Words that may say of null that it is not allowed. */
const NARROW = ["enum", "const", "$ref", "oneOf", "allOf", "not", "if"];

/** OpenAPI's `nullable` in words of JSON Schema, where Ajv does not take it: beside no `type`. */
function withoutNullable(schema: Schema): Schema {
  const { nullable, ...rest } = schema;
  if (nullable === undefined || "type" in rest) return schema;
  const isNarrow = NARROW.some((word) => word in rest);
  if (nullable !== true || (!isNarrow && !("anyOf" in rest))) return rest;
  // A list that is there is kept in its place: references may lead into it.
  if (!isNarrow && Array.isArray(rest["anyOf"]))
    return { ...rest, anyOf: [...(rest["anyOf"] as unknown[]), { type: "null" }] };
  return { anyOf: [rest, { type: "null" }] };
}
