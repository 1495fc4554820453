import { stat } from "node:fs/promises";
import { extname } from "node:path";
import { VerlError } from "../errors/verl-error.ts";
import { reasonOf } from "../errors/reason-of.ts";
import { expandPath } from "../config/expand-path.ts";
import { fileMissing } from "./file-missing.ts";
import { readJson, readJsonLines } from "./json-rows.ts";
import type { Row } from "./parquet/parquet-type.ts";
import { readParquet } from "./parquet/read-parquet.ts";

const READERS: Readonly<Record<string, (file: string) => Promise<Row[]>>> = {
  ".parquet": readParquet,
  ".jsonl": readJsonLines,
  ".ndjson": readJsonLines,
  ".json": readJson,
};

/**
 * Reads every row of a dataset file: parquet, JSON Lines, or JSON (an array of objects, objects line by line, or one object). Nested values
 * and integers beyond 2^53 are kept.
 * @throws VerlError VERL_DATA_FILE_MISSING, VERL_DATA_FILE_FORMAT, VERL_DATA_FILE_CORRUPT, VERL_DATA_EMPTY
 */
export async function readRows(path: string): Promise<Row[]> {
  const file = expandPath(path);
  const size = await sizeOf(file);
  const extension = extname(file).toLowerCase();
  const read = READERS[extension];
  if (read === undefined) {
    const table = extension === ".csv" || extension === ".tsv";
    throw new VerlError(
      "VERL_DATA_FILE_FORMAT",
      `The dataset file has the extension "${extension}", which no reader exists for.`,
      {
        location: { file },
        hint: `Use one of ${Object.keys(READERS).join(", ")}.${table ? " `verl data convert` makes parquet of a table." : ""}`,
      },
    );
  }
  if (size === 0) throw empty(file, "The dataset file has no bytes.");
  let rows: Row[];
  try {
    rows = await read(file);
  } catch (cause) {
    if (cause instanceof VerlError) throw cause;
    const reason = reasonOf(cause);
    throw new VerlError(
      "VERL_DATA_FILE_CORRUPT",
      `The dataset file (${size} bytes) is no readable ${extension.slice(1)} file: ${reason}.`,
      {
        location: { file },
        cause,
        hint: "Write the file again; a download or a copy may have been cut short.",
      },
    );
  }
  if (rows.length === 0) throw empty(file, "The dataset file has no rows.");
  if (rows.every((row) => Object.keys(row).length === 0))
    throw empty(file, "The rows of the dataset file have no columns.");
  return rows;
}

async function sizeOf(file: string): Promise<number> {
  try {
    const info = await stat(file);
    if (info.isFile()) return info.size;
  } catch (cause) {
    throw fileMissing(file, file, cause);
  }
  throw new VerlError("VERL_DATA_FILE_MISSING", `The dataset path "${file}" is a folder.`, {
    location: { file },
    hint: "Name the files in it, as a list.",
  });
}

function empty(file: string, message: string): VerlError {
  return new VerlError("VERL_DATA_EMPTY", message, {
    location: { file },
    hint: "Write the file again, or take it off the list.",
  });
}
