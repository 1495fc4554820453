import { randomUUID } from "node:crypto";
import { STRING_OR_NUMBER } from "../../data/lossless-json.ts";

/** How numbers stood in the text, by the object or list that holds them and their place in it. */
const texts = new WeakMap<object, Map<string, string>>();

/**
 * Notes how a number of `holder` was written, where JavaScript writes it otherwise: `3.10`, `1e2`. Undefined: the value that the key has
 * now is no such number, whatever it was before.
 */
export function noteNumber(holder: object, key: string, text: string | undefined): void {
  let noted = texts.get(holder);
  if (text === undefined) return void noted?.delete(key);
  if (noted === undefined) texts.set(holder, (noted = new Map<string, string>()));
  noted.set(key, text);
}

/** The text of a number, as it was written: a version `3.10` is not 3.1 where text is wanted. */
export const numberText = (holder: object, key: string, value: number | bigint): string =>
  texts.get(holder)?.get(key) ?? String(value);

/**
 * The value of JSON, whose integers beyond ±2^53 − 1 are bigint, and whose numbers are noted.
 * @throws SyntaxError when the text is no JSON.
 */
export function parseNumbers(json: string): unknown {
  // A marker that no text can foresee: looking for one that the text does not hold takes quadratic time in hostile texts.
  const marker = `${randomUUID()}:`;
  const marked = json.replace(STRING_OR_NUMBER, (token) =>
    token.startsWith('"') || isPlain(token) ? token : `"${marker}${token}"`,
  );
  return JSON.parse(marked, function (this: object, key, value: unknown) {
    if (typeof value !== "string" || !value.startsWith(marker)) return value;
    const text = value.slice(marker.length);
    noteNumber(this, key, text);
    return /^-?\d+$/.test(text) && !Number.isSafeInteger(Number(text)) ? BigInt(text) : Number(text);
  });
}

/** Whether JavaScript writes the number as it stands, and knows it from its neighbours. */
function isPlain(text: string): boolean {
  const value = Number(text);
  return String(value) === text && (!Number.isInteger(value) || Number.isSafeInteger(value));
}
