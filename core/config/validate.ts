import { nearest } from "../registry/nearest.ts";
import { printValue, scalarOf } from "./override-grammar.ts";
import type { Note } from "./note.ts";
import type { Problem } from "./problem.ts";
import type { FieldSchema } from "./schema/field.ts";
import { SCHEMAS, type SchemaName } from "./schema/index.ts";
import { isSection, typesOf } from "./schema-lookup.ts";
import { didYouMean, keysHint, suggestPaths } from "./suggest.ts";
import {
  DEFAULT,
  fromValue,
  locationOf,
  removeAt,
  showPath,
  toValue,
  type Entry,
  type MapNode,
  type Node,
  type Path,
  type ScalarNode,
} from "./tree.ts";
import { importanceOf, leadsToWithoutEffect, reasonWithoutEffect } from "./verl-keys.ts";

export interface Validated {
  /** The plain value: single items as lists, other spellings replaced, keys without effect left out. */
  readonly value: unknown;
  readonly problems: readonly Problem[];
  readonly notes: readonly Note[];
}

/** Checks a tree with all interpolations in against its schema. Finds every problem; never throws. */
export function validate(name: SchemaName, root: MapNode): Validated {
  const validator = new Validator(name, root);
  const value = validator.section(SCHEMAS[name], root, []);
  // A default that repeats a wrong value is wrong only because of it.
  const written = validator.problems.filter(
    ({ location }) => location.file !== undefined || location.override !== undefined,
  );
  return { value, problems: written.length > 0 ? written : validator.problems, notes: validator.notes };
}

class Validator {
  readonly problems: Problem[] = [];
  readonly notes: Note[] = [];

  constructor(
    private readonly name: SchemaName,
    private readonly root: MapNode,
  ) {}

  section(schema: FieldSchema, node: Node, path: Path): unknown {
    const properties = schema.properties ?? {};
    if (node.kind === "scalar" && node.value === null && schema.properties === undefined) return {};
    if (node.kind !== "map") return this.wrong(schema, node, path);
    const values = Object.entries(properties).map(([key, field]): [string, unknown] => {
      const below = node.entries.get(key)?.node ?? fromValue(field.default ?? {}, DEFAULT);
      return [key, this.field(field, below, [...path, key])];
    });
    for (const [key, entry] of node.entries) {
      if (Object.hasOwn(properties, key)) continue;
      const at = [...path, key];
      const free = schema.additionalProperties === true && reasonWithoutEffect(at) === undefined;
      if (free) values.push([key, toValue(entry.node)]);
      else this.unknown(entry, at);
    }
    return Object.fromEntries(values);
  }

  private field(schema: FieldSchema, node: Node, path: Path): unknown {
    if (isSection(schema)) return this.section(schema, node, path);
    if (schema.type === "array") return this.list(schema, node, path);
    return node.kind === "scalar" ? this.scalar(schema, node, path) : this.wrong(schema, node, path);
  }

  private list(schema: FieldSchema, node: Node, path: Path): unknown {
    const { items = {}, minItems = 0, maxItems = Infinity } = schema;
    if (schema["x-single"] && node.kind === "scalar") return node.value === null ? [] : [this.field(items, node, path)];
    if (node.kind !== "list" || node.items.length < minItems || node.items.length > maxItems)
      return this.wrong(schema, node, path);
    return node.items.map((item, index) => this.field(items, item, [...path, String(index)]));
  }

  private scalar(schema: FieldSchema, node: ScalarNode, path: Path): unknown {
    const types = typesOf(schema);
    let value = node.value;
    if (node.untyped && typeof value === "string" && !types.includes("string")) value = scalarOf(value);
    // A name such as 2024_01 and bounds such as 0.5_2 are read as numbers before their place is known.
    if (typeof value === "number" && types.includes("string")) {
      if (!types.includes("number")) value = node.written ?? (Number.isSafeInteger(value) ? String(value) : value);
      else if (node.written?.includes("_")) value = node.written;
    }
    const aliases = schema["x-aliases"];
    if (typeof value === "string" && aliases !== undefined && Object.hasOwn(aliases, value)) value = aliases[value]!;
    if (!types.some((type) => isOfType(value, type))) return this.wrong(schema, node, path);
    if (schema.enum !== undefined && !schema.enum.includes(value)) return this.wrong(schema, node, path);
    if (typeof value === "number" && !isInRange(value, schema)) return this.wrong(schema, node, path);
    if (value === "None" && types.includes("null")) {
      this.notes.push({
        message: `\`${showPath(path)}\` is the text "None"; nothing is written null.`,
        location: locationOf(node.origin, path),
        importance: "result",
      });
    }
    return value;
  }

  /** A key that the schema does not have: one of verl's without effect here, or a mistake. */
  private unknown({ key, node }: Entry, path: Path): void {
    const reason = reasonWithoutEffect(path);
    if (reason !== undefined) {
      this.notes.push({
        message: `\`${showPath(path)}\` has no effect here. ${reason}`,
        location: locationOf(key, path),
        importance: importanceOf(path, node),
      });
    } else if (node.kind === "map" && leadsToWithoutEffect(path)) {
      for (const [below, entry] of node.entries) this.unknown(entry, [...path, below]);
    } else {
      const parent = path.length === 1 ? "" : ` in \`${showPath(path.slice(0, -1))}\``;
      // Without the wrong key itself, which would be its own best suggestion.
      const hint = didYouMean(suggestPaths(removeAt(this.root, path), path)) ?? keysHint(this.name);
      this.problems.push({
        code: "VERL_CONFIG_KEY_UNKNOWN",
        message: `There is no config key \`${path.at(-1)}\`${parent}.`,
        hint,
        location: locationOf(key, path),
      });
    }
  }

  private wrong(schema: FieldSchema, node: Node, path: Path): undefined {
    const value =
      node.kind === "scalar" && typeof node.value === "string"
        ? JSON.stringify(node.value)
        : brief(printValue(toValue(node)));
    this.problems.push({
      code: "VERL_CONFIG_VALUE",
      message: `\`${showPath(path)}\` is ${value}; it must be ${expected(schema)}.`,
      hint: hintFor(schema, node),
      location: locationOf(node.origin, path),
    });
  }
}

function isOfType(value: unknown, type: string): boolean {
  switch (type) {
    case "null":
      return value === null;
    case "integer":
      return Number.isSafeInteger(value);
    default:
      return typeof value === type;
  }
}

/** NaN is in no range, and infinity only where it has a meaning. */
function isInRange(value: number, schema: FieldSchema): boolean {
  if (!Number.isFinite(value)) return value === Infinity && schema["x-infinite"] === true;
  const { minimum, exclusiveMinimum, maximum, exclusiveMaximum } = schema;
  const outside =
    (minimum !== undefined && value < minimum) ||
    (exclusiveMinimum !== undefined && value <= exclusiveMinimum) ||
    (maximum !== undefined && value > maximum) ||
    (exclusiveMaximum !== undefined && value >= exclusiveMaximum);
  return !outside;
}

const NAMES: Readonly<Record<string, string>> = {
  integer: "an integer",
  number: "a number",
  string: "text",
  boolean: "true or false",
  object: "a map",
  array: "a list",
  null: "null",
};

/** "an integer of at least 1 or null". */
export function expected(schema: FieldSchema): string {
  if (schema.enum !== undefined)
    return `one of ${choices(schema)
      .map((value) => JSON.stringify(value))
      .join(", ")}`;
  const { minimum, exclusiveMinimum, maximum, exclusiveMaximum, minItems, items } = schema;
  const bounds = [
    minimum !== undefined && `at least ${minimum}`,
    exclusiveMinimum !== undefined && `more than ${exclusiveMinimum}`,
    maximum !== undefined && `at most ${maximum}`,
    exclusiveMaximum !== undefined && `less than ${exclusiveMaximum}`,
  ].filter((bound) => bound !== false);
  const range = bounds.length === 0 ? "" : ` of ${bounds.join(" and ")}`;
  const [first = "", ...rest] = typesOf(schema).map((type) => NAMES[type] ?? type);
  if (schema.type === "array") {
    const of =
      items === undefined
        ? ""
        : ` of ${minItems ?? ""} ${NAMES_MANY[typesOf(items)[0] ?? ""] ?? "values"}`.replace("  ", " ");
    return `a list${of}`;
  }
  return [`${first}${range}`, ...(schema["x-infinite"] ? ["inf"] : []), ...rest].join(" or ");
}

/** Every spelling that a choice accepts. */
const choices = ({ enum: values = [], "x-aliases": aliases = {} }: FieldSchema): readonly unknown[] => [
  ...values,
  ...Object.keys(aliases),
];

const NAMES_MANY: Readonly<Record<string, string>> = { string: "texts", number: "numbers", integer: "integers" };

function hintFor(schema: FieldSchema, node: Node): string | undefined {
  const value = node.kind === "scalar" ? node.value : undefined;
  const types = typesOf(schema);
  if (node.kind === "scalar" && value === null && isSection(schema))
    return "Nothing is written below the key; remove it, or write its keys.";
  if (typeof value === "number" && types.includes("string")) return "Quote it to make it text.";
  if (typeof value === "number" && !Number.isFinite(value)) return "Numbers are finite.";
  if (typeof value !== "string") return undefined;
  if (schema.enum !== undefined) {
    return didYouMean(
      nearest(
        value,
        choices(schema).filter((allowed) => typeof allowed === "string"),
      ),
    );
  }
  if (types.includes("boolean") && /^(yes|no|on|off|y|n)$/i.test(value)) {
    return `YAML 1.2 reads ${value} as text; write ${/^(yes|on|y)$/i.test(value) ? "true" : "false"}.`;
  }
  if (value === "None" && types.includes("null")) return "Nothing is written null.";
  const numeric = types.includes("integer") || types.includes("number");
  if (/^[+-]?0\d+$/.test(value) && numeric)
    return `A leading zero makes it text, for it can mean an octal number; write ${Number(value)} or, for the octal, ${parseOctal(value)}.`;
  if (/^[+-]?\d[\d_]*$/.test(value) && numeric) return "Write the digits without quotes and underscores.";
  return undefined;
}

/** The octal reading; where there is none, the decimal one. */
const parseOctal = (text: string): number => (/[89]/.test(text) ? Number(text) : parseInt(text, 8));

const brief = (text: string): string => (text.length > 60 ? `${text.slice(0, 57)}…` : text);
