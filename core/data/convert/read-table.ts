import { extname } from "node:path";
import { isVerlError, VerlError } from "../../errors/verl-error.ts";
import { expandPath } from "../../config/expand-path.ts";
import { fileMissing } from "../file-missing.ts";
import type { Row } from "../parquet/parquet-type.ts";
import { readRows } from "../read-rows.ts";
import { readText } from "../text-file.ts";

/**
 * Rows of any file that `verl data convert` takes: those that datasets read, and CSV or TSV with a header, whose values are texts. A CSV
 * whose header has semicolons and no comma is parted by semicolons, as spreadsheets write it in many countries.
 * @throws VerlError VERL_DATA_FILE_MISSING, VERL_DATA_FILE_FORMAT, VERL_DATA_FILE_CORRUPT, VERL_DATA_EMPTY
 */
export async function readTable(path: string): Promise<Row[]> {
  const file = expandPath(path);
  const extension = extname(file).toLowerCase();
  if (extension !== ".csv" && extension !== ".tsv") return readRows(file);
  const text = await readText(file).catch((cause: Error) => {
    if (isVerlError(cause)) throw cause;
    throw fileMissing(path, file, cause);
  });
  const { parse } = await import("csv-parse/sync");
  const broken = (message: string, line: number | undefined, cause?: unknown): VerlError =>
    new VerlError("VERL_DATA_FILE_CORRUPT", `It is no readable table: ${message}.`, {
      location: { file, line },
      cause,
      hint: "The first line names the columns, each once; a field with a separator or a line break is in double quotes.",
    });
  let rows: Row[];
  try {
    const delimiter = extension === ".tsv" ? "\t" : separatorOf(text);
    rows = parse<Row>(text, { columns: eachOnce, delimiter, skip_empty_lines: true });
  } catch (cause) {
    const { message, lines } = cause as Error & { lines?: number };
    throw broken(message, lines, cause);
  }
  if (rows.length > 0) return rows;
  throw new VerlError("VERL_DATA_EMPTY", "The table has no rows below its header.", {
    location: { file },
    hint: "Write the file again.",
  });
}

function eachOnce(names: readonly string[]): string[] {
  const twice = names.find((name, at) => names.indexOf(name) < at);
  if (twice !== undefined) throw new Error(`the header names the column "${twice}" twice`);
  return [...names];
}

function separatorOf(text: string): string {
  const header = text.slice(0, text.search(/[\r\n]/));
  return header.includes(";") && !header.includes(",") ? ";" : ",";
}
