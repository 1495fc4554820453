import { readFile, stat } from "node:fs/promises";
import { extname } from "node:path";
import { VerlError } from "../errors/verl-error.ts";
import { expandPath } from "./expand-path.ts";
import { parseLosslessJson } from "./lossless-json.ts";
import type { Row } from "./parquet/parquet-type.ts";
import { readParquet } from "./parquet/read-parquet.ts";

const READERS: Readonly<Record<string, (file: string) => Promise<Row[]>>> = {
  ".parquet": readParquet,
  ".jsonl": readJsonLines,
  ".ndjson": readJsonLines,
  ".json": readJson,
};

/**
 * Reads every row of a dataset file: parquet, JSON Lines, or JSON (an array of objects, or objects line by line). Nested values
 * and integers beyond 2^53 are kept.
 * @throws VerlError VERL_DATA_FILE_MISSING, VERL_DATA_FILE_FORMAT, VERL_DATA_FILE_CORRUPT, VERL_DATA_EMPTY
 */
export async function readRows(path: string): Promise<Row[]> {
  const file = expandPath(path);
  const extension = extname(file).toLowerCase();
  const read = READERS[extension];
  if (read === undefined) {
    throw new VerlError(
      "VERL_DATA_FILE_FORMAT",
      `The dataset file has the extension "${extension}", which no reader exists for.`,
      {
        location: { file },
        hint: `Use one of ${Object.keys(READERS).join(", ")}.`,
      },
    );
  }
  const size = await sizeOf(file);
  if (size === 0) throw empty(file, "The dataset file has no bytes.");
  let rows: Row[];
  try {
    rows = await read(file);
  } catch (cause) {
    if (cause instanceof VerlError) throw cause;
    const reason = cause instanceof Error ? cause.message : String(cause);
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
  return rows;
}

async function sizeOf(file: string): Promise<number> {
  try {
    const info = await stat(file);
    if (info.isFile()) return info.size;
  } catch (cause) {
    throw new VerlError(
      "VERL_DATA_FILE_MISSING",
      `The dataset file "${file}" cannot be opened: ${(cause as Error).message}.`,
      {
        location: { file },
        cause,
        hint: "Check data.train_files and data.val_files; relative paths start at the working directory.",
      },
    );
  }
  throw new VerlError("VERL_DATA_FILE_MISSING", `The dataset path "${file}" is a folder.`, {
    location: { file },
    hint: "Name the files in it, as a list.",
  });
}

async function readJsonLines(file: string): Promise<Row[]> {
  return parseLines(file, await readFile(file, "utf8"));
}

async function readJson(file: string): Promise<Row[]> {
  const text = await readFile(file, "utf8");
  if (!text.trimStart().startsWith("[")) return parseLines(file, text);
  const rows = parseLosslessJson(text) as unknown[];
  return rows.map((row, index) => asRow(row, file, `Element ${index}`));
}

function parseLines(file: string, text: string): Row[] {
  const rows: Row[] = [];
  text.split("\n").forEach((lineText, index) => {
    const line = index + 1;
    if (lineText.trim() === "") return;
    let value: unknown;
    try {
      value = parseLosslessJson(lineText);
    } catch (cause) {
      throw new VerlError("VERL_DATA_FILE_CORRUPT", `Line ${line} is no JSON: ${(cause as Error).message}.`, {
        location: { file, line },
        cause,
        hint: "Each line holds one whole JSON object.",
      });
    }
    rows.push(asRow(value, file, `Line ${line}`, line));
  });
  return rows;
}

function asRow(value: unknown, file: string, where: string, line?: number): Row {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Row;
  throw new VerlError(
    "VERL_DATA_FILE_CORRUPT",
    `${where} is ${Array.isArray(value) ? "an array" : `${typeof value}`}, not an object.`,
    {
      location: line === undefined ? { file } : { file, line },
      hint: "A row is an object with one field a column.",
    },
  );
}

function empty(file: string, message: string): VerlError {
  return new VerlError("VERL_DATA_EMPTY", message, {
    location: { file },
    hint: "Write the file again, or take it off the list.",
  });
}
