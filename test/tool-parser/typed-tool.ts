import { tool } from "./public-reports.ts";

/** A tool with an argument of each type. */
export const TYPED_TOOLS = [
  tool("f", {
    s: { type: "string" },
    i: { type: "integer" },
    n: { type: "number" },
    b: { type: "boolean" },
    maybe: { type: ["string", "null"] },
    either: { anyOf: [{ type: "integer" }, { type: "string" }] },
    o: { type: "object", properties: { id: { type: "string" } } },
    l: { type: "array", items: { type: "integer" } },
  }),
];

/** JSON in the tags of Hermes, which others read as well. */
export const hermes = (call: string): string => `<tool_call>\n${call}\n</tool_call>`;
