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

const NOT_FINITE = /^[-+]?(?:NaN|nan|[Ii]nf(?:inity)?|\d[\d.]*[eE]\+?\d+)(?!\w)/;
/** Letters of a number in a message. */
const MAX_TOLD = 32;

/** Says why, where the letter that JSON cannot have is that of a number without bounds: models write those, and can mend it. */
function notJson(text: string, at: number): string {
  const number = NOT_FINITE.exec(text.slice(at, at + MAX_TOLD))?.[0];
  return number === undefined ? NOT_JSON : `${NOT_JSON}: ${number} is no finite number`;
}

/** Longer broken values are not repaired. */
const MAX_REPAIR = 1 << 16;
/** What a repair costs beside its letters, and one in vain. */
const REPAIR_COST = 1 << 9;
const VAIN_COST = 1 << 12;
/** Boundaries that may stand in a string of a broken value: it is read up to each of so many, then after twice as many each time. */
const EACH_PASSED = 4;

/**
 * Reads the JSON object or list that comes next. It ends where its brackets close, whatever stands in its strings.
 * When its brackets are broken, it is read leniently, up to one of the next `boundaries`; when that fails too, the source is left at
 * the first boundary, so that what follows is read for itself.
 */
export function readJson(source: TextSource, boundaries: Markers): Scan<JsonRead> {
  if (source.isBroken) return repairJson(source, boundaries, false);
  const scanner = new JsonScanner();
  const end = feed(source, scanner, source.at);
  if (scanner.status === "done") return source.now(readScanned(source, scanner, end));
  if (scanner.status === "open") return readLater(source, boundaries, scanner, end);
  source.noteBroken(scanner.opens);
  return repairJson(source, boundaries, false);
}

function* readLater(source: TextSource, boundaries: Markers, scanner: JsonScanner, at: number): Scan<JsonRead> {
  const end = yield* feedOn(source, scanner, at);
  if (scanner.status === "done") return readScanned(source, scanner, end);
  if (scanner.status === "bad") source.noteBroken(scanner.opens);
  return yield* repairJson(source, boundaries, scanner.status === "open");
}

/** Reads what a scanner found whole. */
function readScanned(source: TextSource, scanner: JsonScanner, end: number): JsonRead {
  const body = source.text.slice(source.at, end);
  source.at = end;
  const value = parseScanned(body, scanner);
  if (value !== undefined) return { ok: true, value, repaired: false };
  const mayRepair = body.length <= MAX_REPAIR && source.repairLeft > 0;
  const read = mayRepair ? readLiteral(body) : undefined;
  const repaired = read?.ok === true && read.end === body.length;
  if (mayRepair) source.repairLeft -= body.length + (repaired ? REPAIR_COST : VAIN_COST);
  if (repaired) return { ok: true, value: read.value, repaired };
  return { ok: false, reason: read?.ok === false ? notJson(body, read.at) : NOT_JSON };
}

/**
 * The text of the JSON object, list or string that comes next, of which nothing is read. Undefined: there is none, or none that `JSON.parse`
 * takes, or it starts within what this has looked through before, so that all of it takes linear time.
 */
export function peekJson(source: TextSource): Scan<string | undefined> {
  if (source.at > source.triedFrom && source.at < source.triedTo) return source.now(undefined);
  const scanner = new JsonScanner();
  const end = feed(source, scanner, source.at);
  return scanner.status === "open" ? peekLater(source, scanner, end) : source.now(peeked(source, scanner, end));
}

function* peekLater(source: TextSource, scanner: JsonScanner, at: number): Scan<string | undefined> {
  return peeked(source, scanner, yield* feedOn(source, scanner, at));
}

function peeked(source: TextSource, scanner: JsonScanner, end: number): string | undefined {
  source.triedFrom = source.at;
  source.triedTo = end;
  return scanner.status === "done" && scanner.isStrict ? source.text.slice(source.at, end) : undefined;
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

interface Repair {
  start: number;
  /** The first boundary. */
  first: number;
  truncated: boolean;
  passed: number;
  reason: string;
}

function repairJson(source: TextSource, boundaries: Markers, endsEarly: boolean): Scan<JsonRead> {
  return tryRepair(source, boundaries, {
    start: source.at,
    first: -1,
    truncated: endsEarly,
    passed: 0,
    reason: NOT_JSON,
  });
}

/** Tries the text up to the next boundary. */
function tryRepair(source: TextSource, boundaries: Markers, repair: Repair): Scan<JsonRead> {
  return source.then(source.until(boundaries), (boundary): Scan<JsonRead> => {
    const { start, passed } = repair;
    if (passed === 0) {
      repair.first = source.at;
      repair.truncated &&= boundary === undefined;
    }
    if (mayRepair(source, start)) {
      const read = readUpTo(source, start, source.at, boundary !== undefined);
      if (read.ok) return source.now(read);
      if (passed === 0 && read.stop === "letter") repair.reason = notJson(source.text.slice(start, source.at), read.at);
      repair.truncated ||= passed === 0 && boundary === undefined && read.stop !== "letter";
      if (read.stop === "string" && boundary !== undefined) {
        source.at += boundary.length;
        repair.passed += 1;
        return repair.passed < EACH_PASSED
          ? tryRepair(source, boundaries, repair)
          : tryFurther(source, boundaries, repair);
      }
    }
    return source.now(giveUp(source, repair));
  });
}

/** Likewise, where a string holds many of them: a text may quote any number of calls. */
function* tryFurther(source: TextSource, boundaries: Markers, repair: Repair): Scan<JsonRead> {
  const { start } = repair;
  for (let most = EACH_PASSED; mayRepair(source, start); most *= 2) {
    const ends: number[] = [];
    let boundary: string | undefined = "";
    while (boundary !== undefined && ends.length < most && mayRepair(source, start)) {
      source.at += boundary.length;
      boundary = yield* source.until(boundaries);
      ends.push(source.at);
    }
    if (!mayRepair(source, start)) break;
    const read = readUpTo(source, start, source.at, boundary !== undefined);
    if (read.ok) return read;
    if (read.stop === "string" && boundary !== undefined) {
      source.at += boundary.length;
      continue;
    }
    // Where it breaks off, it may end: brackets were left out before a boundary.
    const end = ends.findLast((at) => at <= start + read.at);
    const short = end === undefined ? undefined : readUpTo(source, start, end, true);
    if (short?.ok) return short;
    break;
  }
  return giveUp(source, repair);
}

const mayRepair = (source: TextSource, start: number): boolean =>
  source.at - start <= MAX_REPAIR && source.repairLeft > 0;

function giveUp(source: TextSource, { first, truncated, reason }: Repair): JsonRead {
  source.at = first;
  return { ok: false, reason: truncated ? TRUNCATED : reason };
}

/** Reads a broken value leniently up to a place. The source stands behind what is read. */
function readUpTo(source: TextSource, start: number, end: number, closeAtEnd: boolean) {
  const read = readLiteral(source.text.slice(start, end), 0, { closeAtEnd });
  source.steps += (read.ok ? read.end : read.at) + 1;
  source.repairLeft -= read.ok ? read.end + REPAIR_COST : read.at + VAIN_COST;
  if (!read.ok) return read;
  source.at = start + read.end;
  return { ok: true, value: read.value, repaired: true } as const;
}
