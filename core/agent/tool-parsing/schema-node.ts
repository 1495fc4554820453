import type { JSONSchema7, JSONSchema7Definition, JSONSchema7TypeName as TypeName } from "json-schema";
import { schemaPattern, type SchemaPattern } from "../../config/schema-pattern.ts";
import { isObject } from "./call-object.ts";

/** References and unions of one place are followed this far; a schema that refers to itself ends here. */
const MAX_UNION = 64;
/** Longer keys fit no pattern: the time for each grows with the letters. */
const MAX_PATTERN_KEY = 256;

/** JSON Schema, with what its later drafts and OpenAPI add to it. */
type Schema = JSONSchema7 & { prefixItems?: JSONSchema7Definition[]; nullable?: boolean };
type Definition = JSONSchema7Definition | undefined;

/** All schemas that one place of a value may follow. */
export class SchemaNode {
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

export function typeOf(value: unknown): TypeName {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  if (typeof value === "bigint" || Number.isInteger(value)) return "integer";
  return typeof value as "string" | "number" | "boolean" | "object";
}
