import type { JSONSchema7 } from "json-schema";
import { kindInfo, registries, type Kind } from "../registry/index.ts";
import type { FieldSchema } from "./schema/field.ts";
import { SCHEMAS, type SchemaName } from "./schema/index.ts";
import { isSection } from "./schema-lookup.ts";
import { selectorsOf } from "./selections.ts";
import { parsePath } from "./tree.ts";

/** Any value may be an interpolation instead. */
const INTERPOLATION: JSONSchema7 = {
  type: "string",
  pattern: "\\$\\{",
  description: "Interpolation: ${a.b}, ${oc.env:NAME,default}.",
};

/**
 * JSON Schema (draft-07) of a config file, for editors: every key with its description and default, the registered plugins by name at
 * the keys that choose one, and their options. verl's keys without effect are left out of completion but allowed.
 */
export function configJsonSchema(name: SchemaName): JSONSchema7 {
  const root = plain(SCHEMAS[name]);
  root.properties = {
    extends: {
      description:
        "Config files that this one builds upon: relative paths, or package/config.yaml. Later wins, this file last.",
      anyOf: [{ type: "string" }, { type: "array", items: { type: "string" } }],
    },
    defaults: { description: "Hydra's defaults list: config groups and `_self_`.", type: "array" },
    ...root.properties,
  };
  for (const { kind, path, optionsAt } of selectorsOf(name)) addPlugins(root, kind, path, optionsAt);
  const title = name === "ppo" ? "verl train" : "verl sft";
  return { $schema: "http://json-schema.org/draft-07/schema#", title, ...root };
}

/** Our schema without `x-` words, with interpolations allowed. Sections allow keys of verl that are not described. */
function plain(field: FieldSchema): JSONSchema7 {
  const { description, default: fallback } = field;
  const meta = {
    description: [description, field["x-departure"]].filter(Boolean).join(" "),
    ...(fallback === undefined ? {} : { default: fallback as JSONSchema7["default"] }),
  };
  if (isSection(field)) {
    const properties = Object.entries(field.properties ?? {}).map(([key, below]) => [key, plain(below)]);
    return {
      ...meta,
      type: "object",
      ...(properties.length > 0 && { properties: Object.fromEntries(properties) as JSONSchema7["properties"] }),
    };
  }
  const rule = bare(field);
  const single = field["x-single"] && field.items !== undefined ? [bare(field.items), { type: "null" } as const] : [];
  const acceptsText = rule.type === "string" && rule.enum === undefined;
  return acceptsText ? { ...meta, ...rule } : { ...meta, anyOf: [rule, ...single, INTERPOLATION] };
}

function bare(field: FieldSchema): JSONSchema7 {
  const {
    "x-single": _single,
    "x-aliases": aliases,
    "x-departure": _departure,
    "x-infinite": _infinite,
    description: _text,
    default: _default,
    items,
    ...rule
  } = field;
  const result = { ...rule, ...(items && { items: bare(items) }) } as JSONSchema7;
  if (result.enum !== undefined && aliases !== undefined) result.enum = [...result.enum, ...Object.keys(aliases)];
  return result;
}

/** Names the registered entries of a kind where one is chosen, and describes the chosen one's options. */
function addPlugins(root: JSONSchema7, kind: Kind, selectedBy: string, optionsAt: string | undefined): void {
  const field = at(root, parsePath(selectedBy));
  const registered = registries[kind].registrations();
  if (field === undefined || registered.length === 0) return;
  const known: JSONSchema7[] = registered.map(({ key, entry }) => ({ const: key, description: entry.description }));
  const names: JSONSchema7 = {
    anyOf: [...known, { type: "string", description: `A ${kindInfo(kind).title} of a plugin.` }],
  };
  const single = field.anyOf?.some((rule) => typeof rule === "object" && rule.type === "array");
  const nullable = field.anyOf?.some((rule) => typeof rule === "object" && [rule.type].flat().includes("null"));
  field.anyOf = [
    ...(single ? [{ type: "array", items: names } as const] : []),
    ...names.anyOf!,
    ...(nullable ? [{ type: "null" } as const] : []),
  ];
  delete field.type;

  if (optionsAt === undefined) return;
  const selector = parsePath(selectedBy);
  const options = parsePath(optionsAt);
  const shared = selector.findIndex((key, index) => key !== options[index]);
  const parent = at(root, selector.slice(0, shared < 0 ? selector.length - 1 : shared));
  if (parent === undefined) return;
  const depth = shared < 0 ? selector.length - 1 : shared;
  const conditions = registered.flatMap(({ key, entry }) => {
    if (entry.optionsSchema?.properties === undefined) return [];
    const chosen = nested(selector.slice(depth), { const: key });
    return [
      {
        if: { ...chosen, required: [selector[depth]!] },
        then: nested(options.slice(depth), { properties: entry.optionsSchema.properties }),
      },
    ];
  });
  if (conditions.length > 0) parent.allOf = [...(parent.allOf ?? []), ...conditions];
}

const at = (root: JSONSchema7, path: readonly string[]): JSONSchema7 | undefined =>
  path.reduce<JSONSchema7 | undefined>((schema, key) => schema?.properties?.[key] as JSONSchema7 | undefined, root);

const nested = (path: readonly string[], schema: JSONSchema7): JSONSchema7 =>
  path.reduceRight<JSONSchema7>((below, key) => ({ properties: { [key]: below } }), schema);
