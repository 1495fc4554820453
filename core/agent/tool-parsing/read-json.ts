import { parseLosslessJson } from "../../data/lossless-json.ts";
import { TRUNCATED } from "./answer-writer.ts";
import { JsonScanner } from "./json-scanner.ts";
import { readLiteral } from "./literal.ts";
import type { Markers, Scan, TextSource } from "./text-source.ts";

export type JsonRead =
  | {
      ok: true;
      value: unknown;
      /** It was no JSON, and what was meant is clear. */
      repaired: boolean;
    }
  | { ok: false; reason: string };

/** Reason of a call whose JSON cannot be read, nor repaired. */
export const NOT_JSON = "the call is not valid JSON";

/** Longer broken values are not repaired. */
const MAX_REPAIR = 1 << 16;
/** After so many values of an answer that are beyond repair, no more is tried. */
const MAX_FAILED = 256;
/** Boundaries in a broken value that may stand in a string of it. */
const MAX_PASSED = 4;

/**
 * Reads the JSON object or list that comes next. It ends where its brackets close, whatever stands in its strings.
 * When its brackets are broken, it is read leniently, up to one of the next `boundaries`; when that fails too, the source is left at
 * the first boundary, so that what follows is read for itself.
 */
export function* readJson(source: TextSource, boundaries: Markers): Scan<JsonRead> {
  const start = source.at;
  const status = yield* scanJson(source);
  if (status === "done") {
    const body = source.text.slice(start, source.at);
    try {
      return { ok: true, value: parseLosslessJson(body), repaired: false };
    } catch {
      const read = body.length <= MAX_REPAIR ? readLiteral(body) : undefined;
      if (read?.ok && read.end === body.length) return { ok: true, value: read.value, repaired: true };
      return { ok: false, reason: NOT_JSON };
    }
  }
  source.at = start;
  return yield* repairJson(source, boundaries, status === "open");
}

/** Goes past the value if it is whole. */
function* scanJson(source: TextSource): Scan<JsonScanner["status"]> {
  const scanner = new JsonScanner();
  let at = source.at;
  for (;;) {
    const next = scanner.feed(source.text, at);
    source.steps += next - at + 1;
    at = next;
    if (scanner.status !== "open" || !(yield* source.more())) break;
  }
  if (scanner.status === "done") source.at = at;
  return scanner.status;
}

function* repairJson(source: TextSource, boundaries: Markers, endsEarly: boolean): Scan<JsonRead> {
  const start = source.at;
  let first = -1;
  let truncated = false;
  for (let passed = 0; passed < MAX_PASSED; passed++) {
    const boundary = yield* source.until(boundaries);
    if (first < 0) {
      first = source.at;
      truncated = boundary === undefined && endsEarly;
    }
    const body = source.text.slice(start, source.at);
    if (body.length > MAX_REPAIR || source.failedRepairs >= MAX_FAILED) break;
    source.steps += body.length;
    const read = readLiteral(body, 0, { closeAtEnd: boundary !== undefined });
    if (read.ok) {
      source.at = start + read.end;
      return { ok: true, value: read.value, repaired: true };
    }
    truncated ||= passed === 0 && boundary === undefined && read.stop !== "letter";
    if (read.stop !== "string" || boundary === undefined) break;
    source.at += boundary.length;
  }
  source.at = first;
  source.failedRepairs += 1;
  return { ok: false, reason: truncated ? TRUNCATED : NOT_JSON };
}
