import { plainFacts } from "../errors/plain-facts.ts";

/** Characters that are shown of what an object holds. */
const MAX_HELD = 500;

/** What was thrown, in words; anything can be thrown, and this throws nothing. */
export function thrownText(thrown: unknown): string {
  try {
    const isObject = typeof thrown === "object" && thrown !== null;
    if (isObject && "message" in thrown) return String(thrown.message);
    const text = String(thrown);
    if (!isObject || !text.includes("[object ")) return text;
    // It has no words of its own: what it holds says more.
    const facts = plainFacts(thrown);
    const held = typeof facts === "string" ? facts : JSON.stringify(facts);
    return held.length > MAX_HELD ? `${held.slice(0, MAX_HELD)}…` : held;
  } catch {
    return `${typeof thrown === "function" ? "a function" : "an object"} that cannot be put into words`;
  }
}

/** A line to be logged, of a program that nothing has type-checked. */
export const textOf = (message: unknown): string => (typeof message === "string" ? message : thrownText(message));
