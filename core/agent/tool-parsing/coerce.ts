import type { JSONSchema7 } from "json-schema";
import { fits, isTyped, type Allowed } from "./allowed-values.ts";
import { isObject } from "./call-object.ts";
import { readLiteral } from "./literal.ts";
import { parseJson } from "./parse-json.ts";
import { SchemaDocument } from "./schema-document.ts";
import { SchemaNode } from "./schema-node.ts";
import { numberText } from "./written-numbers.ts";

/** Paths that are told of a call, and letters of a key in each: as many values as a text has letters may be wrong, under one long key. */
const [MAX_MISTYPED, MAX_KEY] = [32, 64];

/**
 * Gives values the types that a tool's schema asks for: `"10"` becomes 10 where an integer is wanted, 10 becomes `"10"` where a
 * string is, at any depth. A value that fits no allowed type stays as it is, and its path is added to `mistyped`,
 * which has the first of them.
 */
export class SchemaTypes {
  private readonly root: SchemaNode;

  constructor(schema: JSONSchema7) {
    this.root = new SchemaNode({ sure: [schema], possible: [] }, new SchemaDocument(schema));
  }

  /** Arguments that came as JSON. */
  object(args: Record<string, unknown>, mistyped: string[]): Record<string, unknown> {
    return coerceFields(args, this.root, "", mistyped);
  }

  /** An argument of a format that writes values as bare text. */
  text(key: string, text: string, mistyped: string[]): unknown {
    const node = this.root.property(key);
    const value = node.allowed.types === undefined ? readBareValue(text) : fromText(text, node.allowed);
    return coerce({ [key]: value }, key, node, inPath(key), mistyped);
  }

  /** Whether there may be an argument of that name. */
  allows(key: string): boolean {
    return this.root.isOpen || this.root.property(key).mayBe;
  }
}

const inPath = (key: string): string => (key.length > MAX_KEY ? `${key.slice(0, MAX_KEY)}…` : key);

type Holder = Readonly<Record<string, unknown>>;

/** @param holder Has the value at `key`: a list has it at its place. */
function coerce(holder: Holder, key: string, node: SchemaNode, path: string, mistyped: string[]): unknown {
  const value = holder[key];
  if (node.isEmpty) return value;
  const { allowed } = node;
  const fitted = fits(value, allowed) ? value : convert(holder, key, allowed);
  if (!isTyped(fitted, allowed) && mistyped.length < MAX_MISTYPED) mistyped.push(path);
  if (Array.isArray(fitted)) {
    const items = fitted as unknown as Holder;
    return fitted.map((_, index) => coerce(items, String(index), node.item(index), `${path}.${index}`, mistyped));
  }
  return isObject(fitted) ? coerceFields(fitted, node, `${path}.`, mistyped) : fitted;
}

function coerceFields(fields: Record<string, unknown>, node: SchemaNode, prefix: string, mistyped: string[]) {
  let coerced = fields;
  for (const key of Object.keys(fields)) {
    const value = coerce(fields, key, node.property(key), prefix + inPath(key), mistyped);
    if (value === fields[key]) continue;
    if (coerced === fields) coerced = { ...fields };
    // The copy has the key as its own, and so keeps it, be it `__proto__`.
    coerced[key] = value;
  }
  return coerced;
}

/** The value in an allowed type, or as it is. */
function convert(holder: Holder, key: string, allowed: Allowed): unknown {
  const value = holder[key];
  if (typeof value === "string") return fromText(value, allowed);
  if (!allowed.types?.has("string")) return value;
  if (typeof value === "number" || typeof value === "bigint") return numberText(holder, key, value);
  return typeof value === "boolean" ? String(value) : value;
}

/** What a text stands for among the allowed values; the text itself where nothing else fits. @param quoted It stood in quotes. */
function fromText(text: string, allowed: Allowed, quoted = false): unknown {
  const { types = new Set(), texts } = allowed;
  const takesText = types.has("string") && texts === undefined;
  if (texts?.has(text) || (takesText && types.size === 1)) return text;
  const trimmed = text.trim();
  const value = parseJson(trimmed) ?? (takesText ? undefined : literalValue(trimmed));
  if (typeof value === "string" && !quoted && !takesText) {
    // A number, a list or whatever else is wanted, in quotes.
    const inner = fromText(value, allowed, true);
    return fits(inner, allowed) ? inner : text;
  }
  if (value !== undefined && typeof value !== "string" && fits(value, allowed)) return value;
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
