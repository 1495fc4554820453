import { readFileSync } from "node:fs";
import { isNode, isSeq, LineCounter, parseDocument, type Document } from "yaml";
import { expandPath } from "./expand-path.ts";
import { VerlError } from "../errors/verl-error.ts";

/** Aliases that a file may use; each can unfold to all that stands before it. */
const MAX_ALIASES = 100;

export interface FileEntry {
  readonly [field: string]: unknown;
}

/** How entries of a file are told apart: no two may have one name. */
export interface EntryNames {
  /** What the entries are: "agent loops". */
  readonly title: string;
  /** Field that gives an entry another name. */
  readonly field: string;
  /** An entry's name; anything but a text where it has none, or none that is known yet. */
  readonly of: (entry: FileEntry) => unknown;
}

/**
 * Reads a YAML file of entries: a list, or a map with the list under `key` (verl writes `tools:` and `interaction:`).
 * @param option config path that names the file, for messages
 * @throws VerlError VERL_AGENT_FILE with the line
 */
export function readEntriesFile(path: string, key: string, option: string, names: EntryNames): FileEntry[] {
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
  const lineOf = (index: number): number | undefined => {
    const at = startOf(document, key, index);
    return at === undefined ? undefined : lines.linePos(at).line;
  };
  const places = new Map<string, number>();
  for (const [index, entry] of list.entries()) {
    const name = names.of(entry);
    if (typeof name !== "string") continue;
    const before = places.get(name);
    if (before !== undefined) {
      const [first, second] = [before, index].map((at) => placeOf(at, lineOf(at)));
      throw fault(
        `Two ${names.title} are called "${name}": ${first} and ${second}.`,
        `Give one of them another \`${names.field}\`, or leave it out.`,
        lineOf(index),
      );
    }
    places.set(name, index);
  }
  return list;
}

const placeOf = (index: number, line: number | undefined): string =>
  line === undefined ? `entry ${index + 1}` : `entry ${index + 1} (line ${line})`;

/** Where an entry begins in the file's text; undefined where the list is an alias of one. */
function startOf(document: Document.Parsed, key: string, index: number): number | undefined {
  const list = isSeq(document.contents) ? document.contents : document.get(key, true);
  const entry = isSeq(list) ? list.items[index] : undefined;
  return isNode(entry) ? entry.range?.[0] : undefined;
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
