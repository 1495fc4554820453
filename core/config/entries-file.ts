import { readFileSync } from "node:fs";
import { LineCounter, parseDocument } from "yaml";
import { expandPath } from "./expand-path.ts";
import { VerlError } from "../errors/verl-error.ts";

/** Aliases that a file may use; each can unfold to all that stands before it. */
const MAX_ALIASES = 100;

export interface FileEntry {
  readonly [field: string]: unknown;
}

/**
 * Reads a YAML file of entries: a list, or a map with the list under `key` (verl writes `tools:` and `interaction:`).
 * @param option config path that names the file, for messages
 * @throws VerlError VERL_AGENT_FILE with the line
 */
export function readEntriesFile(path: string, key: string, option: string): FileEntry[] {
  const file = expandPath(path);
  const fault = (message: string, hint: string, line?: number, cause?: unknown): VerlError =>
    new VerlError("VERL_AGENT_FILE", message, { location: { file, line, path: option }, hint, cause });
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (cause) {
    throw fault(
      `The file "${path}" cannot be read: ${(cause as Error).message}.`,
      `Check ${option}; relative paths start at the working directory.`,
      undefined,
      cause,
    );
  }
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const [error] = document.errors;
  if (error !== undefined) {
    throw fault(`It is not valid YAML: ${error.message}.`, "Mend the line.", lines.linePos(error.pos[0]).line, error);
  }
  let value: unknown;
  try {
    value = document.toJS({ maxAliasCount: MAX_ALIASES });
  } catch (cause) {
    throw fault(`It cannot be read: ${(cause as Error).message}.`, "Write the values out.", undefined, cause);
  }
  const list = Array.isArray(value) ? value : (value as Record<string, unknown> | null)?.[key];
  if (!Array.isArray(list) || !list.every(isMap)) {
    throw fault(
      `It has no list of maps under \`${key}\`.`,
      `The file is a map with the key \`${key}\`, whose value is a list with one map an entry.`,
    );
  }
  return list;
}

/** The text field of an entry. @throws VerlError VERL_AGENT_FILE */
export function textField(entry: FileEntry, field: string, option: string): string {
  const value = entry[field];
  if (typeof value === "string" && value !== "") return value;
  throw new VerlError("VERL_AGENT_FILE", `An entry has ${JSON.stringify(value) ?? "nothing"} as its \`${field}\`.`, {
    location: { path: option },
    hint: `Give each entry of the file a \`${field}\`.`,
  });
}

/** A map field of an entry; `{}` where there is none. @throws VerlError VERL_AGENT_FILE */
export function mapField(entry: FileEntry, field: string, option: string): Record<string, unknown> {
  const value = entry[field] ?? {};
  if (isMap(value)) return value;
  throw new VerlError("VERL_AGENT_FILE", `An entry has ${JSON.stringify(value)} as its \`${field}\`, which is a map.`, {
    location: { path: option },
    hint: `Write \`${field}:\` with its options below it.`,
  });
}

/** Whether it is a map, as YAML has them. */
export const isMap = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
