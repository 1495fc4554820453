import type { JSONSchema7 } from "json-schema";
import { isObject } from "./call-object.ts";
import { allowedByItself, type Allowed } from "./allowed-values.ts";

type Fields = Readonly<Record<string, unknown>>;

/**
 * What a schema says, in one form for all drafts and OpenAPI. Schemas come of clients and servers of tools: what is malformed in one
 * says nothing. Schemas in it are not read yet.
 */
export interface SchemaParts {
  /** By its types and the values that it lists. */
  readonly own: Allowed;
  /** Beside all that it allows otherwise. */
  readonly nullable: boolean;
  /** Schemas that hold as well. */
  readonly all: readonly unknown[];
  /** Of each list, one schema holds as well. */
  readonly choices: readonly (readonly unknown[])[];
  readonly properties: Fields | undefined;
  readonly patternProperties: Fields;
  readonly additionalProperties: unknown;
  /** Schemas of the first items of a list, one each. */
  readonly tuple: readonly unknown[];
  /** Schema of the items behind those. */
  readonly items: unknown;
}

/** A tool's parameters, in which schemas refer to others. */
export class SchemaDocument {
  private readonly read = new Map<object, SchemaParts>();
  private readonly numbers = new Map<unknown, number>();

  constructor(readonly root: JSONSchema7) {}

  partsOf(schema: Fields): SchemaParts {
    let parts = this.read.get(schema);
    if (parts === undefined) this.read.set(schema, (parts = this.readParts(schema)));
    return parts;
  }

  /** The same for the same schemas alone. */
  keyOf(schemas: readonly unknown[]): string {
    return schemas
      .map((schema) => {
        let number = this.numbers.get(schema);
        if (number === undefined) this.numbers.set(schema, (number = this.numbers.size));
        return number;
      })
      .join();
  }

  private readParts(schema: Fields): SchemaParts {
    const { properties, patternProperties, additionalProperties, prefixItems, items, additionalItems } = schema;
    const tuple = [prefixItems, items].find(Array.isArray) as unknown[] | undefined;
    return {
      own: allowedByItself(schema),
      nullable: schema.nullable === true,
      // A reference that leads nowhere is one to a schema of which nothing is known.
      all: [...listOf(schema.allOf), ...(typeof schema.$ref === "string" ? [this.target(schema.$ref) ?? true] : [])],
      choices: [listOf(schema.anyOf), listOf(schema.oneOf)].filter(({ length }) => length > 0),
      properties: isObject(properties) ? properties : undefined,
      patternProperties: isObject(patternProperties) ? patternProperties : {},
      additionalProperties,
      tuple: tuple ?? [],
      items: Array.isArray(items) ? additionalItems : items,
    };
  }

  private target(ref: string): unknown {
    if (ref === "#") return this.root;
    if (!ref.startsWith("#/")) return undefined;
    let at: unknown = this.root;
    for (const part of ref.slice(2).split("/").map(pointerKey)) {
      const holds = typeof at === "object" && at !== null && Object.hasOwn(at, part);
      at = holds ? (at as Fields)[part] : undefined;
    }
    return at;
  }
}

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

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
