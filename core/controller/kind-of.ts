/** What was given as a name, in words that follow "the role": `"critic"`, `that is a number`. */
export const quoted = (given: unknown): string =>
  typeof given === "string" ? `"${given}"` : `that is ${kindOf(given)}`;

/** What kind of value it is, in words: `a number`, `a list`, `null`. */
export function kindOf(value: unknown): string {
  if (value === undefined || value === null) return String(value);
  if (Array.isArray(value)) return "a list";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}
