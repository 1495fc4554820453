import type { JSONSchema7, JSONSchema7TypeName as TypeName } from "json-schema";
import { isObject } from "./call-object.ts";
import { readLiteral } from "./literal.ts";
import { parseJson } from "./parse-json.ts";
import { SchemaNode, typeOf } from "./schema-node.ts";
import { numberText } from "./written-numbers.ts";

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
