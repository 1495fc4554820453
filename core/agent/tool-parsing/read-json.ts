import { TRUNCATED } from "./answer-writer.ts";
import { JsonScanner } from "./json-scanner.ts";
import { readLiteral } from "./literal.ts";
import type { Markers } from "./markers.ts";
import { parseScanned } from "./parse-json.ts";
import type { Scan, TextSource } from "./text-source.ts";

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
export function readJson(source: TextSource, boundaries: Markers): Scan<JsonRead> {
  const scanner = new JsonScanner();
  const end = feed(source, scanner, source.at);
  if (scanner.status === "done") return source.now(readScanned(source, scanner, end));
  return scanner.status === "open"
    ? readLater(source, boundaries, scanner, end)
    : repairJson(source, boundaries, false);
}

function* readLater(source: TextSource, boundaries: Markers, scanner: JsonScanner, at: number): Scan<JsonRead> {
  const end = yield* feedOn(source, scanner, at);
  return scanner.status === "done"
    ? readScanned(source, scanner, end)
    : yield* repairJson(source, boundaries, scanner.status === "open");
}

/** Reads what a scanner found whole. */
function readScanned(source: TextSource, scanner: JsonScanner, end: number): JsonRead {
  const body = source.text.slice(source.at, end);
  source.at = end;
  const value = parseScanned(body, scanner);
  if (value !== undefined) return { ok: true, value, repaired: false };
  const mayRepair = body.length <= MAX_REPAIR && source.failedRepairs < MAX_FAILED;
  const read = mayRepair ? readLiteral(body) : undefined;
  if (read?.ok && read.end === body.length) return { ok: true, value: read.value, repaired: true };
  source.failedRepairs += 1;
  return { ok: false, reason: NOT_JSON };
}

/**
 * The text of the JSON object or list that comes next, of which nothing is read. Undefined: there is none, or it starts where this has
 * looked before, so that all of it takes linear time.
 */
export function peekJson(source: TextSource): Scan<string | undefined> {
  if (source.at < source.triedTo) return source.now(undefined);
  const scanner = new JsonScanner();
  const end = feed(source, scanner, source.at);
  return scanner.status === "open" ? peekLater(source, scanner, end) : source.now(peeked(source, scanner, end));
}

function* peekLater(source: TextSource, scanner: JsonScanner, at: number): Scan<string | undefined> {
  return peeked(source, scanner, yield* feedOn(source, scanner, at));
}

function peeked(source: TextSource, scanner: JsonScanner, end: number): string | undefined {
  source.triedTo = end;
  return scanner.status === "done" ? source.text.slice(source.at, end) : undefined;
}

/** @returns Where the scanner stopped, or the end of the text so far. */
function feed(source: TextSource, scanner: JsonScanner, at: number): number {
  const next = scanner.feed(source.text, at);
  source.steps += next - at + 1;
  return next;
}

/** Likewise, with all the text that it takes. */
function* feedOn(source: TextSource, scanner: JsonScanner, from: number): Scan<number> {
  let at = from;
  while (scanner.status === "open" && (yield* source.more())) at = feed(source, scanner, at);
  return at;
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
    if (source.at - start > MAX_REPAIR || source.failedRepairs >= MAX_FAILED) break;
    const body = source.text.slice(start, source.at);
    const read = readLiteral(body, 0, { closeAtEnd: boundary !== undefined });
    source.steps += (read.ok ? read.end : read.at) + 1;
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
