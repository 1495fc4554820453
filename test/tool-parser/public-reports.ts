import type { ParseOptions, ToolSchema } from "../../core/agent/index.ts";

/** One call as `[name, arguments]` or `[name, arguments, rest]`. */
type Call = readonly [name: string, args: object, rest?: { id?: string; repaired?: boolean; mistyped?: string[] }];

export interface ParserCase {
  name: string;
  format: string;
  text: string;
  options?: ParseOptions;
  content?: string;
  reasoning?: string;
  calls?: readonly Call[];
  /** Reasons, each a part of one. */
  errors?: readonly string[];
}

export function tool(name: string, properties: Record<string, object>): ToolSchema {
  return { type: "function", function: { name, parameters: { type: "object", properties } } };
}

const string = { type: "string" };
const integer = { type: "integer" };
const REPAIRED = { repaired: true };

/** Reports of people about tool parsers, by their number in section A of the cases. */
export const PUBLIC_REPORTS: readonly ParserCase[] = [
  {
    name: "1: closing tag in a string",
    format: "hermes",
    text: '<tool_call>\n{"name": "write_note", "arguments": {"path": "a.md", "body": "end with </tool_call> here"}}\n</tool_call>\n<tool_call>\n{"name": "ping", "arguments": {}}\n</tool_call>',
    calls: [
      ["write_note", { path: "a.md", body: "end with </tool_call> here" }],
      ["ping", {}],
    ],
  },
  {
    name: "3: only call in reasoning that never closes",
    format: "hermes",
    text: '<think>\nI should look this up.\n<tool_call>\n{"name": "lookup", "arguments": {"q": "only"}}\n</tool_call>',
    reasoning: 'I should look this up.\n<tool_call>\n{"name": "lookup", "arguments": {"q": "only"}}\n</tool_call>',
    errors: ["tool call inside unterminated reasoning"],
  },
  {
    name: "3: the same, recovered",
    format: "hermes",
    text: '<think>\nI should look this up.\n<tool_call>\n{"name": "lookup", "arguments": {"q": "only"}}\n</tool_call>',
    options: { recoverReasoning: true },
    reasoning: "I should look this up.",
    calls: [["lookup", { q: "only" }]],
  },
  {
    name: "5: arguments as a JSON string",
    format: "hermes",
    text: '<tool_call>{"name": "get_weather", "arguments": "{\\"city\\": \\"Oslo\\"}"}</tool_call>',
    calls: [["get_weather", { city: "Oslo" }]],
  },
  {
    name: "6a: no arguments",
    format: "hermes",
    text: '<tool_call>{"name": "list_rooms"}</tool_call>',
    calls: [["list_rooms", {}]],
  },
  {
    name: "6b: a list of arguments",
    format: "hermes",
    text: '<tool_call>{"name": "list_rooms", "arguments": [1, 2]}</tool_call>',
    errors: ["arguments must be an object"],
  },
  {
    name: "6c: null arguments",
    format: "hermes",
    text: '<tool_call>{"name": "list_rooms", "arguments": null}</tool_call>',
    calls: [["list_rooms", {}]],
  },
  {
    name: "8: list of objects",
    format: "hermes",
    text: '<tool_call>\n{"name": "sum", "arguments": {"items": [{"v": 1}, {"v": 2}]}}\n</tool_call>',
    calls: [["sum", { items: [{ v: 1 }, { v: 2 }] }]],
  },
  {
    name: "10: integer above 2^53",
    format: "hermes",
    text: '<tool_call>{"name": "get_order", "arguments": {"order_id": 9007199254740993}}</tool_call>',
    calls: [["get_order", { order_id: 9007199254740993n }]],
  },
  {
    name: "11: fenced JSON",
    format: "hermes",
    text: '<tool_call>```json\n{"name": "f", "arguments": {"x": 1}}\n```</tool_call>',
    calls: [["f", { x: 1 }, REPAIRED]],
  },
  {
    name: "11: the same, strict",
    format: "hermes",
    text: '<tool_call>```json\n{"name": "f", "arguments": {"x": 1}}\n```</tool_call>',
    options: { strict: true },
    errors: ["the call breaks its format"],
  },
  {
    name: "13: one malformed parameter",
    format: "qwen3_coder",
    text: "<tool_call>\n<function=book>\n<parameter=city>\nLima\n</parameter>\n<parameter=nights\n</function>\n</tool_call>\n<tool_call>\n<function=ping>\n</function>\n</tool_call>",
    calls: [["ping", {}]],
    errors: ["nights"],
  },
  {
    name: "15: JSON values",
    format: "qwen3_coder",
    text: '<tool_call>\n<function=plan>\n<parameter=todos>\n[{"id": "1", "text": "it\'s due"}]\n</parameter>\n<parameter=limits>\n["10", "20"]\n</parameter>\n</function>\n</tool_call>',
    options: {
      tools: [
        tool("plan", {
          todos: { type: "array", items: { type: "object", properties: { id: string, text: string } } },
          limits: { type: "array", items: integer },
        }),
      ],
    },
    calls: [["plan", { todos: [{ id: "1", text: "it's due" }], limits: [10, 20] }]],
  },
  {
    name: "16: dropped closing tag",
    format: "qwen3_coder",
    text: "<tool_call>\n<function=edit>\n<parameter=path>\na.txt\n<parameter=text>\nhello\n</function>\n</tool_call>",
    calls: [["edit", { path: "a.txt", text: "hello" }, REPAIRED]],
  },
  ...["; ", ";", "\n", " ;\n"].map((between) => ({
    name: `18: parallel calls with ${JSON.stringify(between)} between`,
    format: "llama3_json",
    text: `<|python_tag|>{"name": "temp", "parameters": {"city": "Rome"}}${between}{"name": "time", "arguments": {"zone": "UTC+1; summer {x}"}}\nI used {temp} above.`,
    content: "I used {temp} above.",
    calls: [
      ["temp", { city: "Rome" }],
      ["time", { zone: "UTC+1; summer {x}" }],
    ] as const,
  })),
  {
    name: "20: list after prose with a brace",
    format: "mistral",
    text: 'Plan: {step 1}\n[TOOL_CALLS] [{"name": "calc", "arguments": "{\\"expr\\": \\"2+3\\"}", "id": "abc123XYZ"}, {"name": "calc", "arguments": {"expr": "[1]"}}]',
    content: "Plan: {step 1}",
    calls: [
      ["calc", { expr: "2+3" }, { id: "abc123XYZ" }],
      ["calc", { expr: "[1]" }],
    ],
  },
  ...["[ARGS]", ""].map((mark) => ({
    name: `21: names ${mark ? "and [ARGS]" : "without a mark"}, two calls`,
    format: "mistral",
    text: `[TOOL_CALLS]calc${mark}{"a": {"b": {"c": 1}}}[TOOL_CALLS]echo${mark}{"text": "the [TOOL_CALLS] mark, } too"} Done.`,
    content: "Done.",
    calls: [
      ["calc", { a: { b: { c: 1 } } }],
      ["echo", { text: "the [TOOL_CALLS] mark, } too" }],
    ] as const,
  })),
  {
    name: "23: outer mark, no complete call",
    format: "deepseek_v3",
    text: "Let me see.<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>get_city\n",
    content: "Let me see.",
    errors: ["truncated"],
  },
  ...["<arg_key>path</arg_key></arg_key>", "<arg_key><arg_key>path</arg_key>"].map((key) => ({
    name: `25: stray key tag, ${key}`,
    format: "glm45",
    text: `<tool_call>open_dir\n${key}\n<arg_value>/srv/data</arg_value>\n</tool_call>`,
    calls: [["open_dir", { path: "/srv/data" }, REPAIRED]] as const,
  })),
  ...[true, false].map((typed) => ({
    name: `26: value types ${typed ? "by schema" : "without one"}`,
    format: "glm45",
    text: "<tool_call>find\n<arg_key>zip</arg_key>\n<arg_value>00420</arg_value>\n<arg_key>limit</arg_key>\n<arg_value>10</arg_value>\n<arg_key>tags</arg_key>\n<arg_value>[]</arg_value>\n<arg_key>safe</arg_key>\n<arg_value>true</arg_value>\n</tool_call>",
    options: typed
      ? {
          tools: [
            tool("find", {
              zip: string,
              limit: { type: "number" },
              tags: { type: "array", items: string },
              safe: { type: "boolean" },
            }),
          ],
        }
      : {},
    calls: [["find", { zip: "00420", limit: 10, tags: [], safe: true }]] as const,
  })),
  {
    name: "28: ids with a hyphen and without prefix",
    format: "kimi_k2",
    text: '<|tool_calls_section_begin|><|tool_call_begin|>functions.list-tasks:0<|tool_call_argument_begin|>{"n": 3}<|tool_call_end|><|tool_call_begin|>sum_up:1<|tool_call_argument_begin|>{"xs": [1, 2]}<|tool_call_end|><|tool_calls_section_end|>',
    calls: [
      ["list-tasks", { n: 3 }, { id: "functions.list-tasks:0" }],
      ["sum_up", { xs: [1, 2] }, { id: "sum_up:1" }],
    ],
  },
  {
    name: "30: two calls, one unknown tool",
    format: "hermes",
    text: '<tool_call>{"name": "pong", "arguments": {}}</tool_call><tool_call>{"name": "ping", "arguments": {}}</tool_call>',
    options: { tools: [tool("ping", {})] },
    calls: [
      ["pong", {}],
      ["ping", {}],
    ],
  },
];
