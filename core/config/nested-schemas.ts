/** Words of JSON Schema under which schemas stand by names of their own. */
const NAMED = new Set(["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"]);
/** Words under which one stands, or a list of them. */
const PLAIN = new Set([
  ...["anyOf", "oneOf", "allOf", "not", "if", "then", "else", "prefixItems", "items", "additionalItems"],
  ...["unevaluatedItems", "contains", "additionalProperties", "unevaluatedProperties", "propertyNames"],
]);

type Schema = Readonly<Record<string, unknown>>;

/** A copy in which `change` has been made to each schema, to those within first. What stands for none stays as it is. */
export function changeSchemas(schema: Schema, change: (schema: Schema) => Schema): Schema {
  const changed = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(changed);
    return isSchema(value) ? changeSchemas(value, change) : value;
  };
  const fields = Object.entries(schema).map(([word, value]) => {
    if (PLAIN.has(word)) return [word, changed(value)];
    if (!NAMED.has(word) || !isSchema(value)) return [word, value];
    return [word, Object.fromEntries(Object.entries(value).map(([name, one]) => [name, changed(one)]))];
  });
  return change(Object.fromEntries(fields) as Schema);
}

const isSchema = (value: unknown): value is Schema =>
  typeof value === "object" && value !== null && !Array.isArray(value);
