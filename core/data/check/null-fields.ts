import type { Row } from "../parquet/parquet-type.ts";

/** A field of structs that is null in some of them. */
export interface NullField {
  /** `prompt[].tool_calls`. */
  path: string;
  nulls: number;
  /** Structs that have the field. */
  of: number;
}

/** Fields that are null, of structs at every depth; columns themselves are not looked at. The commonest first. */
export function countNullFields(rows: readonly Row[]): NullField[] {
  const counts = new Map<string, NullField>();
  const visit = (value: unknown, path: string): void => {
    if (Array.isArray(value)) {
      for (const item of value) visit(item, `${path}[]`);
    } else if (typeof value === "object" && value !== null) {
      for (const [key, field] of Object.entries(value)) {
        const name = `${path}.${key}`;
        let count = counts.get(name);
        if (count === undefined) counts.set(name, (count = { path: name, nulls: 0, of: 0 }));
        count.of += 1;
        if (field === null) count.nulls += 1;
        else visit(field, name);
      }
    }
  };
  for (const row of rows) for (const [column, value] of Object.entries(row)) visit(value, column);
  return [...counts.values()].filter(({ nulls }) => nulls > 0).sort((a, b) => b.nulls / b.of - a.nulls / a.of);
}
