import { randomUUID } from "node:crypto";

/**
 * `JSON.parse` that keeps integers beyond ±2^53 − 1 as bigint, where `JSON.parse` would round them. Everything else is the same,
 * the errors included.
 * @throws SyntaxError when the text is no JSON.
 */
export function parseLosslessJson(text: string): unknown {
  const rounded: unknown = JSON.parse(text);
  if (!/\d{16}/.test(text)) return rounded;
  // A marker that no text can foresee: looking for one that the text does not hold takes quadratic time in hostile texts.
  const marker = `${randomUUID()}:`;
  return JSON.parse(markLargeIntegers(text, marker), (_key, value: unknown) =>
    typeof value === "string" && value.startsWith(marker) ? BigInt(value.slice(marker.length)) : value,
  );
}

/** Each string and each number of a text, which must be valid JSON. */
export const STRING_OR_NUMBER = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/gs;

/** Puts large integer literals of a text, which must be valid JSON, in quotes behind a marker. */
const markLargeIntegers = (text: string, marker: string): string =>
  text.replace(STRING_OR_NUMBER, (token) =>
    /^-?\d{16,}$/.test(token) && !Number.isSafeInteger(Number(token)) ? `"${marker}${token}"` : token,
  );

/** `JSON.stringify` of data that may hold bigints, which are written as integers, and bytes, which are in base64. */
export function stringifyLosslessJson(value: unknown): string {
  if (typeof value === "bigint") return String(value);
  if (value instanceof Uint8Array) return JSON.stringify(base64(value));
  if (Array.isArray(value)) return `[${value.map((item) => stringifyLosslessJson(item)).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  const fields = Object.entries(value).filter(([, field]) => field !== undefined);
  return `{${fields.map(([key, field]) => `${JSON.stringify(key)}:${stringifyLosslessJson(field)}`).join(",")}}`;
}

const base64 = ({ buffer, byteOffset, byteLength }: Uint8Array): string =>
  Buffer.from(buffer, byteOffset, byteLength).toString("base64");
