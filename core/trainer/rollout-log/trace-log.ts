import { join } from "node:path";
import type { TraceSink } from "../../agent/index.ts";
import { JsonLinesFile } from "./json-lines.ts";

export const TRACES_FILE = "traces.jsonl";

/** Writes traces to `<run dir>/traces.jsonl`, one line an attempt at an answer. */
export function traceLog(runDir: string): TraceSink {
  const file = new JsonLinesFile(join(runDir, TRACES_FILE));
  return { begin: () => ({ run: (work) => work(), end: (record) => file.append([record]) }) };
}
