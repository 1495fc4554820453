import { parseLosslessJson } from "../../data/lossless-json.ts";
import { JsonScanner, MAX_NUMBER } from "./json-scanner.ts";

/**
 * Parses JSON of any origin for a tool: nesting and digits have limits, and a number that is too large to be one (`1e400`) is refused,
 * for it would go out as `null`.
 * @throws SyntaxError
 */
export function parseJson(text: string): unknown {
  const fits = /^\s*[[{]/.test(text) ? isWhole(text) : text.length <= MAX_NUMBER || !/^\s*[-\d]/.test(text);
  if (!fits) throw new SyntaxError("not the JSON of a value that tools take");
  return parseScanned(text);
}

/** An exponent of some digits, or many digits. */
const MAY_BE_LARGE = /\d[eE]\+?\d\d|(?<!\d)\d{300}/;

/** Likewise, of text in which a `JsonScanner` has found the end of the value. */
export function parseScanned(text: string): unknown {
  const value = parseLosslessJson(text);
  if (MAY_BE_LARGE.test(text) && !isFinite(value)) throw new SyntaxError("a number is too large");
  return value;
}

function isWhole(text: string): boolean {
  const scanner = new JsonScanner();
  scanner.feed(text, 0);
  return scanner.status === "done";
}

function isFinite(value: unknown): boolean {
  if (typeof value === "number") return Number.isFinite(value);
  return typeof value !== "object" || value === null || Object.values(value).every(isFinite);
}
