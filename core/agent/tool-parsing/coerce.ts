import type { JSONSchema7, JSONSchema7Definition, JSONSchema7TypeName as TypeName } from "json-schema";
import { schemaPattern, type SchemaPattern } from "../../config/schema-pattern.ts";
import { isObject } from "./call-object.ts";
import { readLiteral } from "./literal.ts";
import { parseJson } from "./parse-json.ts";
import { numberText } from "./written-numbers.ts";

/** References and unions of one place are followed this far; a schema that refers to itself ends here. */
const MAX_UNION = 64;
/** Longer keys fit no pattern: the time for each grows with the letters. */
const MAX_PATTERN_KEY = 256;

/** JSON Schema, with what its later drafts and OpenAPI add to it. */
type Schema = JSONSchema7 & { prefixItems?: JSONSchema7Definition[]; nullable?: boolean };
type Definition = JSONSchema7Definition | undefined;

/**
 * Gives values the types that a tool's schema asks for: `"10"` becomes 10 where an integer is wanted, 10 becomes `"10"` where a
 * string is, at any depth. A value that fits no allowed type stays as it is, and its path is added to `mistyped`.
 */
export class SchemaTypes {
  private readonly root: SchemaNode;

  constructor(schema: JSONSchema7) {
    this.root = new SchemaNode([schema], schema);
  }

  /** Arguments that came as JSON. */
  object(args: Record<string, unknown>, mistyped: string[]): Record<string, unknown> {
    return coerceFields(args, this.root, "", mistyped);
  }

  /** An argument of a format that writes values as bare text. */
  text(key: string, text: string, mistyped: string[]): unknown {
    const node = this.root.property(key);
    const value = node.types === undefined ? readBareValue(text) : fromText(text, node.types);
    return coerce({ [key]: value }, key, node, key, mistyped);
  }

  /** Whether there may be an argument of that name. */
  allows(key: string): boolean {
    return this.root.isOpen || !this.root.property(key).isEmpty;
  }
}

/** All schemas that one place of a value may follow. */
class SchemaNode {
  readonly types: ReadonlySet<TypeName> | undefined;
  /** It names no properties, or allows others. */
  readonly isOpen: boolean;
  private readonly schemas: Schema[] = [];
  private readonly nodes = new Map<string | number, SchemaNode>();
  /** By the patterns that keys fit, of which there may be few for many keys. */
  private readonly patternNodes = new Map<string, SchemaNode>();
  private readonly patterns: readonly (readonly [key: string, pattern: SchemaPattern])[];
  /** Items that have schemas of their own. */
  private readonly tupleLength: number;
  private rest: SchemaNode | undefined;

  constructor(
    given: readonly Definition[],
    private readonly document: JSONSchema7,
  ) {
    const queue = [...given];
    for (let i = 0; i < queue.length && i < MAX_UNION; i++) {
      const schema = queue[i];
      if (typeof schema !== "object" || schema === null) continue;
      this.schemas.push(schema);
      queue.push(...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.allOf ?? []), this.target(schema.$ref));
    }
    const types = this.schemas.flatMap(typesOf);
    if (types.length > 0 && this.schemas.some(({ nullable }) => nullable === true)) types.push("null");
    this.types = types.length === 0 ? undefined : new Set(types);
    this.isOpen = this.schemas.every(({ properties, additionalProperties: more }) => !properties || isObject(more));
    this.patterns = [...new Set(this.schemas.flatMap((schema) => Object.keys(schema.patternProperties ?? {})))].flatMap(
      (pattern) => {
        const known = patternOf(pattern);
        return known === undefined ? [] : [[pattern, known] as const];
      },
    );
    this.tupleLength = Math.max(0, ...this.schemas.map((schema) => tupleOf(schema)?.length ?? 0));
  }

  get isEmpty(): boolean {
    return this.schemas.length === 0;
  }

  property(key: string): SchemaNode {
    const known = this.nodes.get(key);
    if (known !== undefined) return known;
    const named = this.schemas.some(({ properties }) => properties !== undefined && Object.hasOwn(properties, key));
    const fitting = this.patternsOf(key);
    if (named) return memo(this.nodes, key, () => this.child((schema) => fieldSchemas(schema, fitting, key)));
    if (fitting.length === 0) return (this.rest ??= this.child(({ additionalProperties }) => additionalProperties));
    return memo(this.patternNodes, fitting.join("\n"), () => this.child((schema) => fieldSchemas(schema, fitting)));
  }

  item(index: number): SchemaNode {
    const place = Math.min(index, this.tupleLength);
    return memo(this.nodes, place, () =>
      this.child((schema) => {
        const { items, additionalItems } = schema;
        return tupleOf(schema)?.[place] ?? (Array.isArray(items) ? additionalItems : items);
      }),
    );
  }

  private patternsOf(key: string): string[] {
    if (this.patterns.length === 0 || key.length > MAX_PATTERN_KEY) return [];
    return this.patterns.filter(([, pattern]) => pattern.test(key)).map(([known]) => known);
  }

  private child(pick: (schema: Schema) => Definition | Definition[]): SchemaNode {
    return new SchemaNode(this.schemas.flatMap(pick), this.document);
  }

  private target(ref: string | undefined): JSONSchema7Definition | undefined {
    if (ref === "#") return this.document;
    if (!ref?.startsWith("#/")) return undefined;
    let at: unknown = this.document;
    for (const part of ref.slice(2).split("/").map(pointerKey)) {
      const holds = typeof at === "object" && at !== null && Object.hasOwn(at, part);
      at = holds ? (at as Record<string, unknown>)[part] : undefined;
    }
    return at as Definition;
  }
}

function memo<K>(nodes: Map<K, SchemaNode>, key: K, create: () => SchemaNode): SchemaNode {
  let node = nodes.get(key);
  if (node === undefined) nodes.set(key, (node = create()));
  return node;
}

/** A part of a JSON pointer in a URI as the key that it stands for. */
function pointerKey(part: string): string {
  let key = part;
  try {
    key = decodeURIComponent(part);
  } catch {
    // A sign of percent that stands for itself.
  }
  return key.replaceAll("~1", "/").replaceAll("~0", "~");
}

/** Undefined for a pattern that is none here: what it would say of a key is not known. */
function patternOf(pattern: string): SchemaPattern | undefined {
  try {
    return schemaPattern(pattern);
  } catch {
    return undefined;
  }
}

/** Schemas of the first items of a list, one each. */
const tupleOf = ({ prefixItems, items }: Schema): JSONSchema7Definition[] | undefined =>
  prefixItems ?? (Array.isArray(items) ? items : undefined);

/** What a schema says of a field: by its name and the patterns that it fits, otherwise by what it says of all others. */
function fieldSchemas(schema: Schema, patterns: readonly string[], name?: string): Definition[] {
  const { properties, patternProperties = {}, additionalProperties } = schema;
  const found: Definition[] = patterns.flatMap((key) =>
    Object.hasOwn(patternProperties, key) ? patternProperties[key] : [],
  );
  if (name !== undefined && properties !== undefined && Object.hasOwn(properties, name)) found.push(properties[name]);
  return found.length > 0 ? found : [additionalProperties];
}

function typesOf({ type, enum: options, const: only, properties }: JSONSchema7): TypeName[] {
  if (type !== undefined) return [type].flat();
  if (options !== undefined) return options.map(typeOf);
  if (only !== undefined) return [typeOf(only)];
  return properties === undefined ? [] : ["object"];
}

type Holder = Readonly<Record<string, unknown>>;

/** @param holder Has the value at `key`: a list has it at its place. */
function coerce(holder: Holder, key: string, node: SchemaNode, path: string, mistyped: string[]): unknown {
  const value = holder[key];
  if (node.isEmpty) return value;
  const { types } = node;
  const fitted = types === undefined || fits(value, types) ? value : convert(holder, key, types);
  if (types !== undefined && !fits(fitted, types)) mistyped.push(path);
  if (Array.isArray(fitted)) {
    const items = fitted as unknown as Holder;
    return fitted.map((_, index) => coerce(items, String(index), node.item(index), `${path}.${index}`, mistyped));
  }
  return isObject(fitted) ? coerceFields(fitted, node, `${path}.`, mistyped) : fitted;
}

function coerceFields(fields: Record<string, unknown>, node: SchemaNode, prefix: string, mistyped: string[]) {
  let coerced = fields;
  for (const key of Object.keys(fields)) {
    const value = coerce(fields, key, node.property(key), prefix + key, mistyped);
    if (value === fields[key]) continue;
    if (coerced === fields) coerced = { ...fields };
    // The copy has the key as its own, and so keeps it, be it `__proto__`.
    coerced[key] = value;
  }
  return coerced;
}

function typeOf(value: unknown): TypeName {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  if (typeof value === "bigint" || Number.isInteger(value)) return "integer";
  return typeof value as "string" | "number" | "boolean" | "object";
}

function fits(value: unknown, types: ReadonlySet<TypeName>): boolean {
  const type = typeOf(value);
  return types.has(type) || (type === "integer" && types.has("number"));
}

/** The value in an allowed type, or as it is. */
function convert(holder: Holder, key: string, types: ReadonlySet<TypeName>): unknown {
  const value = holder[key];
  if (typeof value === "string") return fromText(value, types);
  if (!types.has("string")) return value;
  if (typeof value === "number" || typeof value === "bigint") return numberText(holder, key, value);
  return typeof value === "boolean" ? String(value) : value;
}

/** What a text stands for among the allowed types; the text itself where nothing else fits. @param quoted It stood in quotes. */
function fromText(text: string, types: ReadonlySet<TypeName>, quoted = false): unknown {
  if (types.size === 1 && types.has("string")) return text;
  const trimmed = text.trim();
  const value = parseJson(trimmed) ?? (types.has("string") ? undefined : literalValue(trimmed));
  if (typeof value === "string" && !quoted && !types.has("string")) {
    // A number, a list or whatever else is wanted, in quotes.
    const inner = fromText(value, types, true);
    return fits(inner, types) ? inner : text;
  }
  if (value !== undefined && typeof value !== "string" && fits(value, types)) return value;
  if (types.has("boolean") && /^(?:true|false)$/i.test(trimmed)) return trimmed.toLowerCase() === "true";
  if (types.has("null") && /^(?:null|none)$/i.test(trimmed)) return null;
  return text;
}

/** A bare text without a schema: a value where it is JSON, but for strings, which such formats write without quotes. */
export function readBareValue(text: string): unknown {
  const value = parseJson(text.trim());
  return value === undefined || typeof value === "string" ? text : value;
}

function literalValue(text: string): unknown {
  const read = readLiteral(text);
  return read.ok && read.end === text.length ? read.value : undefined;
}
