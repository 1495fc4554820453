import { readFile } from "node:fs/promises";
import { extname } from "node:path";
import { VerlError } from "../../errors/verl-error.ts";
import { expandPath } from "../expand-path.ts";
import type { Row } from "../parquet/parquet-type.ts";
import { readRows } from "../read-rows.ts";

/**
 * Rows of any file that `verl data convert` takes: those that datasets read, and CSV or TSV with a header, whose values are texts.
 * @throws VerlError VERL_DATA_FILE_MISSING, VERL_DATA_FILE_FORMAT, VERL_DATA_FILE_CORRUPT, VERL_DATA_EMPTY
 */
export async function readTable(path: string): Promise<Row[]> {
  const file = expandPath(path);
  const extension = extname(file).toLowerCase();
  if (extension !== ".csv" && extension !== ".tsv") return readRows(file);
  const bytes = await readFile(file).catch((cause: Error) => {
    throw new VerlError("VERL_DATA_FILE_MISSING", `The file "${path}" cannot be opened: ${cause.message}.`, {
      location: { file },
      cause,
      hint: "Relative paths start at the working directory.",
    });
  });
  const { parse } = await import("csv-parse/sync");
  let rows: Row[];
  try {
    const delimiter = extension === ".tsv" ? "\t" : ",";
    rows = parse<Row>(bytes, { bom: true, columns: true, delimiter, skip_empty_lines: true });
  } catch (cause) {
    const { message, lines } = cause as Error & { lines?: number };
    throw new VerlError("VERL_DATA_FILE_CORRUPT", `It is no readable table: ${message}.`, {
      location: { file, line: lines },
      cause,
      hint: "The first line names the columns; a field with a separator or a line break is in double quotes.",
    });
  }
  if (rows.length > 0) return rows;
  throw new VerlError("VERL_DATA_EMPTY", "The table has no rows below its header.", {
    location: { file },
    hint: "Write the file again.",
  });
}
