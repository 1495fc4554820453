import type { ToolSchema } from "../../core/agent/index.ts";
import type { ParserCase } from "./public-reports.ts";
import { hermes } from "./typed-tool.ts";

/** A tool whose schema has what JSON Schema's later drafts and OpenAPI add. */
const parameters = {
  type: "object",
  properties: {
    maybe: { type: "integer", nullable: true },
    name: { type: "string", nullable: true },
    any: { nullable: true },
    kind: { anyOf: [{ enum: [1, 2] }], nullable: true },
    pair: { type: "array", prefixItems: [{ type: "integer" }, { type: "string" }], items: { type: "boolean" } },
    old: { type: "array", items: [{ type: "integer" }], additionalItems: { type: "string" } },
    sizes: { type: "object", patternProperties: { "^w_": { type: "integer" }, "(": { type: "integer" } } },
    rest: {
      properties: { id: { type: "string" } },
      patternProperties: { "^n": { type: "integer" }, x$: { type: ["integer", "null"] } },
      additionalProperties: { type: "boolean" },
    },
    slash: { $ref: "#/$defs/a~1b" },
    tilde: { $ref: "#/$defs/c~01" },
    blank: { $ref: "#/$defs/d%20%25" },
    percent: { $ref: "#/$defs/100%" },
    item: { $ref: "#/properties/kind/anyOf/0" },
    self: { $ref: "#" },
  },
  $defs: {
    "a/b": { type: "integer" },
    "c~1": { type: "integer" },
    "d %": { type: "integer" },
    "100%": { type: "integer" },
  },
};
const TOOLS = [{ type: "function", function: { name: "f", parameters } }] as unknown as ToolSchema[];

const CASES: readonly (readonly [name: string, given: object, wanted: object, mistyped?: string[]])[] = [
  [
    "nullable",
    { maybe: "null", name: "null", any: "null", kind: "None" },
    { maybe: null, name: "null", any: "null", kind: null },
  ],
  ["nullable, with a value", { maybe: "3", name: 5, kind: null }, { maybe: 3, name: "5", kind: null }],
  [
    "items by their place, and the others",
    { pair: ["1", 2, "true", "false"], old: ["1", 2, 3] },
    { pair: [1, "2", true, false], old: [1, "2", "3"] },
  ],
  [
    "properties by a pattern; one that is no pattern says nothing",
    { sizes: { w_a: "1", h: "2", "(": "3" } },
    { sizes: { w_a: 1, h: "2", "(": "3" } },
  ],
  [
    "properties by name, by two patterns, and all others",
    { rest: { id: 1, n: "2", nx: "null", yes: "true" } },
    { rest: { id: "1", n: 2, nx: null, yes: true } },
  ],
  [
    "a key that is long fits no pattern",
    { sizes: { [`w_${"a".repeat(300)}`]: "1" } },
    { sizes: { [`w_${"a".repeat(300)}`]: "1" } },
  ],
  [
    "references with signs that stand for others",
    { slash: "1", tilde: "2", blank: "3", percent: "4", item: "2", self: { slash: "x", maybe: "5" } },
    { slash: 1, tilde: 2, blank: 3, percent: 4, item: 2, self: { slash: "x", maybe: 5 } },
    ["self.slash"],
  ],
];

/** Types that a schema asks for in other words than `type`. */
export const SCHEMA_CASES: readonly ParserCase[] = [
  ...CASES.map(([name, given, wanted, mistyped]): ParserCase => ({
    name,
    format: "hermes",
    text: hermes(JSON.stringify({ name: "f", arguments: given })),
    options: { tools: TOOLS },
    calls: [["f", wanted, mistyped && { mistyped }]],
  })),
  {
    name: "nullable, as bare text",
    format: "glm45",
    text: "<tool_call>f\n<arg_key>name</arg_key>\n<arg_value>null</arg_value>\n<arg_key>maybe</arg_key>\n<arg_value>3</arg_value>\n</tool_call>",
    options: { tools: TOOLS },
    calls: [["f", { name: null, maybe: 3 }]],
  },
];
