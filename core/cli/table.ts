/** Rows as aligned columns, each line indented; trailing blanks cut. */
export function table(rows: readonly (readonly string[])[], indent = "  "): string {
  const widths: number[] = [];
  for (const row of rows) row.forEach((cell, column) => (widths[column] = Math.max(widths[column] ?? 0, cell.length)));
  return rows
    .map((row) => (indent + row.map((cell, column) => cell.padEnd(widths[column]!)).join("  ")).trimEnd())
    .join("\n");
}
