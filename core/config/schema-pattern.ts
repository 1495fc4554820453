import { RE2JS } from "re2js";

/** Whether a text has a match. */
export interface SchemaPattern {
  test(text: string): boolean;
}

/**
 * A `pattern` of a JSON Schema, matched in time linear in the text: schemas come of MCP servers and texts of models, and a regular expression
 * of JavaScript can take longer than the world for forty letters.
 * @returns Undefined for what such matching has not (look-around, back-references, a repeat of more than 1,000): any text may fit.
 * @throws SyntaxError for what is no regular expression of JavaScript
 */
export function schemaPattern(pattern: string): SchemaPattern | undefined {
  new RegExp(pattern, "u");
  try {
    const compiled = RE2JS.compile(RE2JS.translateRegExp(pattern));
    return { test: (text) => compiled.matcher(text).find() };
  } catch {
    return undefined;
  }
}
