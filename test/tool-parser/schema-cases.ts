import type { ToolSchema } from "../../core/agent/index.ts";
import type { ParserCase } from "./public-reports.ts";
import { hermes } from "./typed-tool.ts";

const TERMS = { properties: { left: { $ref: "#/$defs/sum" }, right: { $ref: "#/$defs/sum" } } };

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
    sum: { $ref: "#/$defs/sum" },
    many: {
      anyOf: Array.from({ length: 200 }, (_, at) => ({ properties: { [`v${at}`]: { type: "integer" } } })),
    },
    auto: { anyOf: [{ const: "auto" }, { type: "integer" }] },
    one: { enum: ["auto", 1, 2] },
    all: { oneOf: [{ type: "integer" }, { type: "string", enum: ["all"] }] },
    "ints or auto": { type: ["string", "integer"], enum: ["auto", 1, 2] },
    "none or a": { anyOf: [{ const: "a" }, { type: "null" }] },
    given: { anyOf: [{ enum: ["2"] }, { type: "integer" }] },
    open: { anyOf: [{ type: "integer" }, {}] },
    yes: { anyOf: [true, { type: "null" }] },
    lost: { anyOf: [{ $ref: "#/$defs/nowhere" }, { type: "null" }] },
    "no more than a type": { type: "string", anyOf: [{ minLength: 1 }, { pattern: "a" }] },
    narrow: {
      properties: { kind: {}, size: { type: "integer" } },
      anyOf: [{ properties: { kind: { const: "a" }, size: {} } }, { properties: { kind: { const: "b" } } }],
    },
    needs: { properties: { a: { type: "string" } }, anyOf: [{ required: ["a"] }, { required: ["b"] }] },
  },
  $defs: {
    "a/b": { type: "integer" },
    "c~1": { type: "integer" },
    "d %": { type: "integer" },
    "100%": { type: "integer" },
    sum: { anyOf: [{ type: "integer" }, ...["add", "sub", "mul", "div"].map((op) => ({ $ref: `#/$defs/${op}` }))] },
    ...Object.fromEntries(["add", "sub", "mul", "div"].map((op) => [op, TERMS])),
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
    { rest: { id: 1, n: "2", nx: "3", yes: "true" } },
    { rest: { id: "1", n: 2, nx: 3, yes: true } },
  ],
  ["what only one of two patterns allows", { rest: { nx: "null" } }, { rest: { nx: "null" } }, ["rest.nx"]],
  [
    "an expression that refers to itself in four ways, three levels deep",
    { sum: { left: { left: { left: "1", right: "2" }, right: "3" }, right: { left: "4", right: "x" } } },
    { sum: { left: { left: { left: 1, right: 2 }, right: 3 }, right: { left: 4, right: "x" } } },
    ["sum.right.right"],
  ],
  ["one of more than a hundred", { many: { v150: "1", v3: 2 } }, { many: { v150: 1, v3: 2 } }],
  [
    "strings of which only some are allowed: any other may stand for a number",
    { auto: "2", one: "2", all: "all", "ints or auto": "auto", "none or a": "null", given: "2" },
    { auto: 2, one: 2, all: "all", "ints or auto": "auto", "none or a": null, given: "2" },
  ],
  [
    "a string that is none of those allowed, and stands for nothing else",
    { auto: "x", all: "some" },
    { auto: "x", all: "some" },
  ],
  [
    "any value where one of the schemas takes all",
    { open: "2", yes: "x", lost: [1], "no more than a type": [1] },
    { open: "2", yes: "x", lost: [1], "no more than a type": [1] },
    ["no more than a type"],
  ],
  [
    "what all schemas of a value and one of a choice say",
    { narrow: { kind: "a", size: "3" }, needs: { a: "1" } },
    { narrow: { kind: "a", size: 3 }, needs: { a: "1" } },
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

const TEXT = { type: "string" };
/** Parameters that name `a`, and whether they allow `b`. */
const CLOSED: readonly (readonly [how: string, rest: object, isTaken: boolean])[] = [
  ["no others are named", { properties: { a: TEXT } }, false],
  ["others are not allowed", { properties: { a: TEXT }, additionalProperties: false }, false],
  ["others are allowed", { properties: { a: TEXT }, additionalProperties: true }, true],
  ["others have a schema", { properties: { a: TEXT }, additionalProperties: TEXT }, true],
  ["it is true", { properties: { a: TEXT, b: true } }, true],
  ["it is false", { properties: { a: TEXT, b: false } }, false],
  ["it fits a pattern", { properties: { a: TEXT }, patternProperties: { "^b": true } }, true],
  ["it fits no pattern", { properties: { a: TEXT }, patternProperties: { "^z": true } }, false],
  ["none but patterns are allowed", { patternProperties: { "^a": TEXT }, additionalProperties: false }, false],
];

/** Parameters of which a part is none that a JSON Schema may have, with an integer beside it. */
const MALFORMED = [
  { properties: null },
  { properties: [] },
  { type: ["array", "object"], properties: { own: null } },
  { patternProperties: 1 },
  { enum: "x" },
  { enum: {} },
  { type: 5 },
  { type: { a: 1 } },
  { type: "any" },
  { $ref: 5 },
  { anyOf: {} },
  { oneOf: [null, 3], allOf: "x" },
  { items: "x", prefixItems: {} },
].map((part) => ({ allOf: [part, { properties: { n: { type: "integer" }, own: part } }] }));

/** Types that a schema asks for in other words than `type`. */
export const SCHEMA_CASES: readonly ParserCase[] = [
  ...CASES.map(([name, given, wanted, mistyped]): ParserCase => ({
    name,
    format: "hermes",
    text: hermes(JSON.stringify({ name: "f", arguments: given })),
    options: { tools: TOOLS },
    calls: [["f", wanted, mistyped && { mistyped }]],
  })),
  ...MALFORMED.map((given): ParserCase => ({
    name: `a malformed schema: ${JSON.stringify(given.allOf[0])}`,
    format: "hermes",
    text: hermes('{"name":"f","arguments":{"n":"1","own":["2"]}}'),
    options: { tools: [{ type: "function", function: { name: "f", parameters: given } }] as unknown as ToolSchema[] },
    calls: [["f", { n: 1, own: ["2"] }]],
  })),
  ...CLOSED.map(([how, rest, isTaken]): ParserCase => ({
    name: `an argument whose closing tag is missing before one that ${isTaken ? "may" : "cannot"} be: ${how}`,
    format: "qwen3_coder",
    text: "<tool_call>\n<function=f>\n<parameter=a>\nx\n<parameter=b>\ny\n</parameter>\n</function>\n</tool_call>",
    options: {
      tools: [
        { type: "function", function: { name: "f", parameters: { type: "object", ...rest } } },
      ] as unknown as ToolSchema[],
    },
    calls: [["f", isTaken ? { a: "x", b: "y" } : { a: "x\n<parameter=b>\ny" }, isTaken ? { repaired: true } : {}]],
  })),
  {
    name: "a listed string in quotes, and one that is not listed, as bare text",
    format: "glm45",
    text: '<tool_call>f\n<arg_key>auto</arg_key>\n<arg_value>"auto"</arg_value>\n<arg_key>one</arg_key>\n<arg_value>2</arg_value>\n</tool_call>',
    options: { tools: TOOLS },
    calls: [["f", { auto: "auto", one: 2 }]],
  },
  ...[
    ["pythonic", "[f(name=3.10, name=5)]"],
    ["pythonic", "[f(name=3.10, name=2.50, name=5)]"],
    ["pythonic", "[f(name=2.50, name=5.0, name=5)]"],
    ["json", '{"name":"f","arguments":{"name":3.10,"name":5,}}'],
    ["json", '{"name":"f","arguments":{"name":3.10,"name":5}}'],
  ].map(([format, text]): ParserCase => ({
    name: `a number in a key that is set anew: ${text}`,
    format: format!,
    text: text!,
    options: { tools: TOOLS },
    calls: [["f", { name: "5" }, text!.includes(",}") ? { repaired: true } : undefined]],
  })),
  {
    name: "nullable, as bare text",
    format: "glm45",
    text: "<tool_call>f\n<arg_key>name</arg_key>\n<arg_value>null</arg_value>\n<arg_key>maybe</arg_key>\n<arg_value>3</arg_value>\n</tool_call>",
    options: { tools: TOOLS },
    calls: [["f", { name: null, maybe: 3 }]],
  },
];
