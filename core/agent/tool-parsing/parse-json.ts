import { JsonScanner, MAX_NUMBER, scalarKind } from "./json-scanner.ts";
import { parseNumbers } from "./written-numbers.ts";

/**
 * The value of JSON of any origin, for a tool. Undefined: it is no JSON, or none that tools take, for nesting and digits have limits, and
 * a number that is too large to be one (`1e400`) would go out as `null`. It does not throw, which hostile texts would have it do at
 * every letter.
 */
export function parseJson(text: string): unknown {
  if (!/^[ \t\n\r]*["[{]/.test(text)) return parseScalar(text);
  const scanner = new JsonScanner();
  const end = scanner.feed(text, 0);
  const isWhole = scanner.status === "done" && /^[ \t\n\r]*$/.test(text.slice(end));
  return isWhole ? parseScanned(text, scanner) : undefined;
}

/** Likewise, of text in which a scanner has found the end of the value. */
export function parseScanned(text: string, { isStrict, isPlain }: JsonScanner): unknown {
  if (!isStrict) return undefined;
  return isPlain ? (JSON.parse(text) as unknown) : parseFinite(text);
}

function parseScalar(text: string): unknown {
  const word = /^[ \t\n\r]*([\w.+-]+)[ \t\n\r]*$/.exec(text)?.[1] ?? "";
  return word.length > MAX_NUMBER || scalarKind(word) === "none" ? undefined : parseFinite(word);
}

function parseFinite(text: string): unknown {
  const value = parseNumbers(text);
  return isFinite(value) ? value : undefined;
}

function isFinite(value: unknown): boolean {
  if (typeof value === "number") return Number.isFinite(value);
  return typeof value !== "object" || value === null || Object.values(value).every(isFinite);
}
