import type { ParserCase } from "./public-reports.ts";
import { hermes, TYPED_TOOLS } from "./typed-tool.ts";

const REPAIRED = { repaired: true };

const coder = (name: string, ...parameters: [string, string][]): string =>
  `<tool_call>\n<function=${name}>\n${parameters.map(([key, value]) => `<parameter=${key}>\n${value}\n</parameter>\n`).join("")}</function>\n</tool_call>`;
const glm = (name: string, ...args: [string, string][]): string =>
  `<tool_call>${name}\n${args.map(([key, value]) => `<arg_key>${key}</arg_key>\n<arg_value>${value}</arg_value>\n`).join("")}</tool_call>`;

/** Values in quotes that none is wanted in, by the argument; and what they stand for. */
const QUOTED: [string, string][] = [
  ["i", '"5"'],
  ["n", '"1.50"'],
  ["b", '"true"'],
  ["l", '"[1, \\"2\\"]"'],
  ["o", '"{\\"id\\": 7}"'],
  ["s", '"5"'],
  ["either", '"5"'],
  ["maybe", '"null"'],
];
const UNQUOTED = { i: 5, n: 1.5, b: true, l: [1, 2], o: { id: "7" }, s: '"5"', either: '"5"', maybe: '"null"' };
/** The schema allows no text, and what stands in quotes is nothing that it allows. */
const NOT_QUOTED: [string, string][] = [
  ["i", '"five"'],
  ["b", '"\\"true\\""'],
];
const AS_WRITTEN = { i: '"five"', b: '"\\"true\\""' };

const CODER: ParserCase[] = [
  {
    name: "values in quotes, by the schema",
    format: "qwen3_coder",
    text: coder("f", ...QUOTED) + coder("f", ...NOT_QUOTED),
    options: { tools: TYPED_TOOLS },
    calls: [
      ["f", UNQUOTED],
      ["f", AS_WRITTEN, { mistyped: ["i", "b"] }],
    ],
  },
  {
    name: "layout is one line break a side, the rest is the value",
    format: "qwen3_coder",
    text: coder("edit", ["old", "    if a && b < c:\n        return '&amp;'\n"], ["new", ""]),
    calls: [["edit", { old: "    if a && b < c:\n        return '&amp;'\n", new: "" }]],
  },
  {
    name: "closing tags in a value",
    format: "qwen3_coder",
    text: coder("f", ["s", "ends with </parameter> here, </function> there,\nand </tool_call> too"]),
    calls: [["f", { s: "ends with </parameter> here, </function> there,\nand </tool_call> too" }]],
  },
  {
    name: "a whole call in a value",
    format: "qwen3_coder",
    text: coder("write", ["text", `Write this:\n${coder("g", ["a", "1"])}\nThat is all.`], ["path", "a.md"]),
    calls: [["write", { text: `Write this:\n${coder("g", ["a", "1"])}\nThat is all.`, path: "a.md" }]],
  },
  {
    name: "a call cut off by the next",
    format: "qwen3_coder",
    text: `<tool_call>\n<function=f>\n<parameter=s>\nhel\n${coder("ping")}`,
    calls: [["ping", {}]],
    errors: ['"s" has no end'],
  },
  {
    name: "no line breaks",
    format: "qwen3_coder",
    text: "<tool_call><function=f><parameter=s>a b</parameter></function></tool_call>",
    calls: [["f", { s: "a b" }]],
  },
  {
    name: "no outer tag",
    format: "qwen3_coder",
    text: "Hm.\n<function=f>\n<parameter=s>\na\n</parameter>\n</function>",
    content: "Hm.",
    calls: [["f", { s: "a" }, REPAIRED]],
  },
  {
    name: "no outer opening tag",
    format: "qwen3_coder",
    text: "<function=f>\n</function>\n</tool_call>",
    calls: [["f", {}, REPAIRED]],
  },
  {
    name: "two functions in one tag",
    format: "qwen3_coder",
    text: "<tool_call>\n<function=f>\n</function>\n<function=g>\n</function>\n</tool_call>",
    calls: [
      ["f", {}],
      ["g", {}],
    ],
  },
  {
    name: "text that shows how a parameter is written",
    format: "qwen3_coder",
    text: coder("f", ["s", "Use:\n<parameter=i>\nfoo\n</parameter>\nin calls."], ["i", "1"]),
    options: { tools: TYPED_TOOLS },
    calls: [["f", { s: "Use:\n<parameter=i>\nfoo\n</parameter>\nin calls.", i: 1 }]],
  },
  {
    name: "text that ends with how a parameter is written, without tools",
    format: "qwen3_coder",
    text: coder("f", ["s", "Use:\n<parameter=i>\nfoo\n</parameter>"], ["i", "1"]),
    calls: [["f", { s: "Use:\n<parameter=i>\nfoo\n</parameter>", i: 1 }]],
  },
  {
    name: "text that opens a parameter that was given already",
    format: "qwen3_coder",
    text: coder("f", ["i", "1"], ["s", "It starts with\n<parameter=i>\nas always."]),
    options: { tools: TYPED_TOOLS },
    calls: [["f", { i: 1, s: "It starts with\n<parameter=i>\nas always." }]],
  },
  {
    name: "two parameters without closing tags, then one with it",
    format: "qwen3_coder",
    text: "<tool_call>\n<function=f>\n<parameter=s>\na\n<parameter=i>\n1\n<parameter=n>\n2\n</parameter>\n</function>\n</tool_call>",
    options: { tools: TYPED_TOOLS },
    calls: [["f", { s: "a", i: 1, n: 2 }, REPAIRED]],
  },
  {
    name: "a doubled closing tag",
    format: "qwen3_coder",
    text: "<tool_call>\n<function=f>\n<parameter=s>\na\n</parameter>\n</parameter>\n</function>\n</tool_call>",
    calls: [["f", { s: "a" }, REPAIRED]],
  },
  ...["</parameter=s>", "</param>", "</parameter=s>\n"].map((end): ParserCase => ({
    name: `a value that ends with ${JSON.stringify(end)}`,
    format: "qwen3_coder",
    text: `<tool_call>\n<function=f>\n<parameter=s>\na\n${end}\n<parameter=t>\nb\n${end}\n</function>\n</tool_call>`,
    calls: [["f", { s: "a", t: "b" }, REPAIRED]],
  })),
  {
    name: "a wrong closing tag within a value",
    format: "qwen3_coder",
    text: coder("f", ["s", "a\n</param>\nb </parameter=s>"]),
    calls: [["f", { s: "a\n</param>\nb </parameter=s>" }]],
  },
  ...[
    "The syntax <function=foo> is used, ok?",
    "Write <function= and a name.",
    "Either <function=foo> or\nsomething else",
  ].map((text): ParserCase => ({ name: `prose: ${text}`, format: "qwen3_coder", text, content: text })),
  {
    name: "prose about a call before one",
    format: "qwen3_coder",
    text: `Say <function=foo> first.\n${coder("f", ["s", "a"])}`,
    content: "Say <function=foo> first.",
    calls: [["f", { s: "a" }]],
  },
  {
    name: "names in attributes: an error of the whole call",
    format: "qwen3_coder",
    text: `<tool_call>\n<function name="f">\n<parameter name="s">a</parameter>\n<parameter name="t">b</parameter>\n</function>\n</tool_call>\nSo.`,
    content: "So.",
    errors: ["does not start with"],
  },
  {
    name: "JSON and no tag inside a function",
    format: "qwen3_coder",
    text: '<function=f>{"a": 1}',
    errors: ["truncated"],
  },
  {
    name: "JSON in the tag",
    format: "qwen3_coder",
    text: hermes('{"name": "f", "arguments": {"a": 1}}'),
    calls: [["f", { a: 1 }]],
  },
  {
    name: "cut in a value",
    format: "qwen3_coder",
    text: "<tool_call>\n<function=f>\n<parameter=s>\nhel",
    errors: ["truncated"],
  },
  {
    name: "cut in a name",
    format: "qwen3_coder",
    text: "Hm.<tool_call>\n<function=ge",
    content: "Hm.",
    errors: ["truncated"],
  },
  {
    name: "types",
    format: "qwen3_coder",
    text: coder(
      "f",
      ["s", "10"],
      ["i", "10"],
      ["n", "1e3"],
      ["b", "True"],
      ["maybe", "null"],
      ["either", "5"],
      ["o", "{'id': 7}"],
      ["l", '["1"]'],
    ),
    options: { tools: TYPED_TOOLS },
    calls: [["f", { s: "10", i: 10, n: 1000, b: true, maybe: null, either: 5, o: { id: "7" }, l: [1] }]],
  },
  {
    name: "text where a number is declared, a large integer",
    format: "qwen3_coder",
    text: coder("f", ["i", "2026-01-15"], ["n", "9007199254740993"], ["either", "five"]),
    options: { tools: TYPED_TOOLS },
    calls: [["f", { i: "2026-01-15", n: 9007199254740993n, either: "five" }, { mistyped: ["i"] }]],
  },
  {
    name: "no tools: JSON where it is JSON, quotes kept",
    format: "qwen3_coder",
    text: coder("f", ["a", "10"], ["b", "[1]"], ["c", '"q"'], ["d", "it's"], ["e", "00420"], ["g", "None"]),
    calls: [["f", { a: 10, b: [1], c: '"q"', d: "it's", e: "00420", g: "None" }]],
  },
];

const GLM: ParserCase[] = [
  {
    name: "values in quotes, by the schema",
    format: "glm45",
    text: glm("f", ...QUOTED) + glm("f", ...NOT_QUOTED),
    options: { tools: TYPED_TOOLS },
    calls: [
      ["f", UNQUOTED],
      ["f", AS_WRITTEN, { mistyped: ["i", "b"] }],
    ],
  },
  {
    name: "values in quotes twice, in JSON",
    format: "hermes",
    text: hermes(JSON.stringify({ name: "f", arguments: Object.fromEntries([...QUOTED, ["l", ["1", '"2"']]]) })),
    options: { tools: TYPED_TOOLS },
    calls: [["f", { ...UNQUOTED, l: [1, 2] }]],
  },
  {
    name: "no arguments",
    format: "glm45",
    text: "<tool_call>list_mailboxes</tool_call>",
    calls: [["list_mailboxes", {}]],
  },
  {
    name: "no line breaks",
    format: "glm45",
    text: "<tool_call>f<arg_key>a</arg_key><arg_value> x </arg_value></tool_call>",
    calls: [["f", { a: " x " }]],
  },
  {
    name: "no opening tag of a value",
    format: "glm45",
    text: "<tool_call>search<arg_key>query</arg_key>how many</arg_value></tool_call>",
    calls: [["search", { query: "how many" }, REPAIRED]],
  },
  {
    name: "no closing tag of a value",
    format: "glm45",
    text: "<tool_call>f\n<arg_key>a</arg_key>\n<arg_value>1\n<arg_key>b</arg_key>\n<arg_value>2</arg_value>\n</tool_call>",
    calls: [["f", { a: 1, b: 2 }, REPAIRED]],
  },
  {
    name: "text that mentions a key",
    format: "glm45",
    text: glm("f", ["i", "1"], ["s", "see <arg_key>i</arg_key> here"]),
    options: { tools: TYPED_TOOLS },
    calls: [["f", { i: 1, s: "see <arg_key>i</arg_key> here" }]],
  },
  {
    name: "text that mentions a key, without tools",
    format: "glm45",
    text: glm("f", ["s", "see <arg_key>k</arg_key> here"]),
    calls: [["f", { s: "see <arg_key>k</arg_key> here" }]],
  },
  {
    name: "text that shows how an argument is written",
    format: "glm45",
    text: glm("f", ["s", "<arg_key>i</arg_key>\n<arg_value>2</arg_value> is one"], ["i", "1"]),
    options: { tools: TYPED_TOOLS },
    calls: [["f", { s: "<arg_key>i</arg_key>\n<arg_value>2</arg_value> is one", i: 1 }]],
  },
  {
    name: "an argument without its closing tag",
    format: "glm45",
    text: "<tool_call>f\n<arg_key>s</arg_key>\n<arg_value>a\n<arg_key>i</arg_key>\n<arg_value>1</arg_value>\n</tool_call>",
    options: { tools: TYPED_TOOLS },
    calls: [["f", { s: "a", i: 1 }, REPAIRED]],
  },
  {
    name: "text that is an argument's value in its tags",
    format: "glm45",
    text: glm("f", ["s", "<arg_value>x</arg_value>"], ["i", "1"]),
    options: { tools: TYPED_TOOLS },
    calls: [["f", { s: "<arg_value>x</arg_value>", i: 1 }]],
  },
  {
    name: "closing tags in a value",
    format: "glm45",
    text: glm("f", ["a", "x </arg_value> y </tool_call> z"]),
    calls: [["f", { a: "x </arg_value> y </tool_call> z" }]],
  },
  {
    name: "two calls, the first broken",
    format: "glm45",
    text: `<tool_call>my tool\n<arg_key>a</arg_key>\n</tool_call>\n${glm("g")}`,
    calls: [["g", {}]],
    errors: ["no name"],
  },
  {
    name: "a name and then another call",
    format: "glm45",
    text: `<tool_call>f\n${glm("g", ["a", "1"])}`,
    calls: [["g", { a: 1 }]],
    errors: ["no end"],
  },
  {
    name: "cut in a value",
    format: "glm45",
    text: "<tool_call>f\n<arg_key>a</arg_key>\n<arg_value>x",
    errors: ["truncated"],
  },
  { name: "cut in the name", format: "glm45", text: "<tool_call>get_wea", errors: ["truncated"] },
  {
    name: "reasoning",
    format: "glm45",
    text: `<think>${glm("draft")}</think>${glm("f")}<|observation|>`,
    reasoning: glm("draft"),
    calls: [["f", {}]],
  },
];

/** Cases of the formats that write values as bare text in tags. */
export const XML_CASES: readonly ParserCase[] = [...CODER, ...GLM];
