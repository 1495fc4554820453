import { createReadStream } from "node:fs";
import { open } from "node:fs/promises";
import { isVerlError, VerlError } from "../errors/verl-error.ts";
import { parseLosslessJson } from "./lossless-json.ts";
import type { Row } from "./parquet/parquet-type.ts";
import { decodeText, readText, utf16Of } from "./text-file.ts";

const LINE_END = 0x0a;

/**
 * Rows of JSON Lines, read piece by piece: the file may be longer than any string.
 * @throws VerlError VERL_DATA_FILE_CORRUPT with the line.
 */
export async function readJsonLines(file: string): Promise<Row[]> {
  if (utf16Of(await firstBytes(file)) !== undefined) return parseLines(await readText(file), file);
  const rows: Row[] = [];
  let line = 0;
  const take = (bytes: Uint8Array): void => {
    line += 1;
    addRow(rows, decodeText(bytes, file, line), line, file);
  };
  /** Of the line that the pieces so far have not ended. */
  let begun: Uint8Array[] = [];
  for await (const chunk of createReadStream(file, { highWaterMark: 2 ** 20 }) as AsyncIterable<Uint8Array>) {
    let start = 0;
    for (let end = chunk.indexOf(LINE_END); end >= 0; end = chunk.indexOf(LINE_END, start)) {
      const piece = chunk.subarray(start, end);
      take(begun.length === 0 ? piece : Buffer.concat([...begun, piece]));
      begun = [];
      start = end + 1;
    }
    if (start < chunk.length) begun.push(chunk.subarray(start));
  }
  if (begun.length > 0) take(Buffer.concat(begun));
  return rows;
}

/** Rows of a JSON file: an array of objects, objects line by line, or one object. @throws VerlError VERL_DATA_FILE_CORRUPT */
export async function readJson(file: string): Promise<Row[]> {
  const text = await readText(file);
  if (text.trimStart().startsWith("[")) {
    const rows = parseLosslessJson(text) as unknown[];
    return rows.map((row, index) => asRow(row, file, `Element ${index}`));
  }
  try {
    return parseLines(text, file);
  } catch (error) {
    const whole = isVerlError(error) && error.location?.line === 1 ? parsed(text) : undefined;
    if (whole === undefined) throw error;
    return [asRow(whole, file, "The whole")];
  }
}

function parsed(text: string): unknown {
  try {
    return parseLosslessJson(text);
  } catch {
    return undefined;
  }
}

async function firstBytes(file: string): Promise<Uint8Array> {
  const handle = await open(file);
  try {
    const { buffer } = await handle.read(new Uint8Array(2), 0, 2, 0);
    return buffer;
  } finally {
    await handle.close();
  }
}

function parseLines(text: string, file: string): Row[] {
  const rows: Row[] = [];
  text.split("\n").forEach((line, index) => addRow(rows, line, index + 1, file));
  return rows;
}

function addRow(rows: Row[], text: string, line: number, file: string): void {
  if (text.trim() === "") return;
  let value: unknown;
  try {
    value = parseLosslessJson(text);
  } catch (cause) {
    throw new VerlError("VERL_DATA_FILE_CORRUPT", `Line ${line} is no JSON: ${(cause as Error).message}.`, {
      location: { file, line },
      cause,
      hint: "Each line holds one whole JSON object.",
    });
  }
  rows.push(asRow(value, file, `Line ${line}`, line));
}

function asRow(value: unknown, file: string, where: string, line?: number): Row {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Row;
  const kind = Array.isArray(value) ? "an array" : value === null ? "null" : `a ${typeof value}`;
  throw new VerlError("VERL_DATA_FILE_CORRUPT", `${where} is ${kind}, not an object.`, {
    location: line === undefined ? { file } : { file, line },
    hint: "A row is an object with one field a column.",
  });
}
