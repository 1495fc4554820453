import { schemaPattern, type SchemaPattern } from "../../config/schema-pattern.ts";
import { allOf, ANYTHING, either, NOTHING, orNull, type Allowed } from "./allowed-values.ts";
import { isObject } from "./call-object.ts";
import type { SchemaDocument, SchemaParts } from "./schema-document.ts";

/** Schemas of one place that are looked at; where there are more, any value may be allowed. */
const MAX_SCHEMAS = 1024;
/** Longer keys fit no pattern: the time for each grows with the letters. */
const MAX_PATTERN_KEY = 256;

/** Schemas that hold for a place, none of them read yet: `true`, `false`, objects; anything else says nothing. */
export interface Given {
  /** Each of them holds. */
  readonly sure: readonly unknown[];
  /** One or another does, as unions have it: which one is not known. */
  readonly possible: readonly unknown[];
}

/** All schemas that one place of a value may follow. */
export class SchemaNode {
  readonly allowed: Allowed;
  /** It names no properties, or allows others. */
  readonly isOpen: boolean;
  private readonly sure: readonly SchemaParts[];
  private readonly possible: readonly SchemaParts[];
  private readonly nodes = new Map<string | number, SchemaNode>();
  /** By the patterns that keys fit, of which there may be few for many keys. */
  private readonly patternNodes = new Map<string, SchemaNode>();
  private readonly patterns: readonly (readonly [key: string, pattern: SchemaPattern])[];
  /** Items that have schemas of their own. */
  private readonly tupleLength: number;
  private rest: SchemaNode | undefined;

  constructor(
    private readonly given: Given,
    private readonly document: SchemaDocument,
    /** All nodes of the document, by what is given for them: schemas that refer to themselves come back to few. */
    private readonly all = new Map<string, SchemaNode>(),
  ) {
    const found = new Map<object, SchemaParts>();
    this.gather(found, given.sure, ({ all }) => all);
    this.sure = [...found.values()];
    const choices = [...given.possible, ...this.sure.flatMap((parts) => parts.choices.flat())];
    this.gather(found, choices, (parts) => [...parts.all, ...parts.choices.flat()]);
    const schemas = [...found.values()];
    this.possible = schemas.slice(this.sure.length);
    this.allowed = found.size > MAX_SCHEMAS ? ANYTHING : this.allowedHere(found);
    this.isOpen = schemas.every(({ properties, additionalProperties: more }) =>
      properties === undefined ? more !== false : more === true || isObject(more),
    );
    this.patterns = [...new Set(schemas.flatMap((parts) => Object.keys(parts.patternProperties)))].flatMap(
      (pattern) => {
        const known = patternOf(pattern);
        return known === undefined ? [] : [[pattern, known] as const];
      },
    );
    this.tupleLength = Math.max(0, ...schemas.map(({ tuple }) => tuple.length));
  }

  /** No schema says anything of the value, or of what is in it. */
  get isEmpty(): boolean {
    return this.sure.length + this.possible.length === 0;
  }

  /** Some schema allows a value at that place. */
  get mayBe(): boolean {
    return [...this.given.sure, ...this.given.possible].some((schema) => schema === true || isObject(schema));
  }

  property(key: string): SchemaNode {
    const known = this.nodes.get(key);
    if (known !== undefined) return known;
    const named = [...this.sure, ...this.possible].some(
      ({ properties }) => properties !== undefined && Object.hasOwn(properties, key),
    );
    const fitting = this.patternsOf(key);
    if (named) return memo(this.nodes, key, () => this.child((parts) => fieldSchemas(parts, fitting, key)));
    if (fitting.length === 0) return (this.rest ??= this.child(({ additionalProperties }) => [additionalProperties]));
    return memo(this.patternNodes, fitting.join("\n"), () => this.child((parts) => fieldSchemas(parts, fitting)));
  }

  item(index: number): SchemaNode {
    const place = Math.min(index, this.tupleLength);
    return memo(this.nodes, place, () =>
      this.child(({ tuple, items }) => [place < tuple.length ? tuple[place] : items]),
    );
  }

  /** Adds schemas and all that they lead to, each once: schemas may refer to themselves. */
  private gather(
    found: Map<object, SchemaParts>,
    given: readonly unknown[],
    next: (parts: SchemaParts) => readonly unknown[],
  ): void {
    const queue = [...given];
    for (let i = 0; i < queue.length && found.size <= MAX_SCHEMAS; i++) {
      const schema = queue[i];
      if (!isObject(schema) || found.has(schema)) continue;
      const parts = this.document.partsOf(schema);
      found.set(schema, parts);
      for (const one of next(parts)) queue.push(one);
    }
  }

  private allowedHere(schemas: ReadonlyMap<object, SchemaParts>): Allowed {
    const known = new Map<object, Allowed | undefined>();
    /** Undefined: it says nothing, or is asked for while it is looked at, as a schema is that refers to itself. */
    const allowedBy = (schema: unknown): Allowed | undefined => {
      if (typeof schema === "boolean") return schema ? ANYTHING : NOTHING;
      if (!isObject(schema)) return undefined;
      if (known.has(schema)) return known.get(schema);
      known.set(schema, undefined);
      const { own, nullable, all, choices } = schemas.get(schema)!;
      const allowed = allOf([own, ...all.map(allowedBy), ...choices.map(oneOf)]);
      known.set(schema, nullable ? orNull(allowed) : allowed);
      return known.get(schema);
    };
    const oneOf = (list: readonly unknown[]): Allowed | undefined => {
      const found = list.map(allowedBy).filter((allowed) => allowed !== undefined);
      return found.length === 0 ? undefined : either(found);
    };
    const allowed = allOf([...this.given.sure.map(allowedBy), oneOf(this.given.possible)]);
    return allowed.types?.size === 0 ? ANYTHING : allowed;
  }

  private patternsOf(key: string): string[] {
    if (this.patterns.length === 0 || key.length > MAX_PATTERN_KEY) return [];
    return this.patterns.filter(([, pattern]) => pattern.test(key)).map(([known]) => known);
  }

  private child(pick: (parts: SchemaParts) => readonly unknown[]): SchemaNode {
    const distinct = (schemas: readonly SchemaParts[]): unknown[] => [...new Set(schemas.flatMap(pick))];
    const [sure, possible] = [distinct(this.sure), distinct(this.possible)];
    const key = `${this.document.keyOf(sure)} ${this.document.keyOf(possible)}`;
    return memo(this.all, key, () => new SchemaNode({ sure, possible }, this.document, this.all));
  }
}

function memo<K>(nodes: Map<K, SchemaNode>, key: K, create: () => SchemaNode): SchemaNode {
  let node = nodes.get(key);
  if (node === undefined) nodes.set(key, (node = create()));
  return node;
}

/** Undefined for a pattern that is none here: what it would say of a key is not known. */
function patternOf(pattern: string): SchemaPattern | undefined {
  try {
    return schemaPattern(pattern);
  } catch {
    return undefined;
  }
}

/** What a schema says of a field: by its name and the patterns that it fits, otherwise by what it says of all others. */
function fieldSchemas(parts: SchemaParts, patterns: readonly string[], name?: string): unknown[] {
  const { properties, patternProperties, additionalProperties } = parts;
  const found = patterns.flatMap((key) => (Object.hasOwn(patternProperties, key) ? [patternProperties[key]] : []));
  if (name !== undefined && properties !== undefined && Object.hasOwn(properties, name)) found.push(properties[name]);
  return found.length > 0 ? found : [additionalProperties];
}
