import { tool, type ParserCase } from "./public-reports.ts";

const REPAIRED = { repaired: true };
const NO_OBJECT = "arguments must be an object";

const deepseek = (args: string, head = "f<｜tool▁sep｜>"): string =>
  `<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>${head}${args}<｜tool▁call▁end｜><｜tool▁calls▁end｜>`;

/** Arguments that are no object, in both layouts under both keys. */
const DEEPSEEK = ["deepseek_v3", "deepseek_v3_1"].flatMap((format): ParserCase[] => [
  ...["null", '"{}"', "```json\nnull\n```"].map((args): ParserCase => ({
    name: `no arguments, ${args}`,
    format,
    text: deepseek(args),
    calls: [["f", {}]],
  })),
  ...["oops", "city: Oslo}", "'x'", "arguments: {}", '"x"', "12"].map((args): ParserCase => ({
    name: `arguments that are ${args}`,
    format,
    text: deepseek(args),
    errors: [NO_OBJECT],
  })),
  { name: "V3, null", format, text: deepseek("f\n```json\nnull\n```", "function<｜tool▁sep｜>"), calls: [["f", {}]] },
  { name: "V3, a name alone", format, text: deepseek("f", "function<｜tool▁sep｜>"), calls: [["f", {}]] },
  {
    name: "V3 with another type",
    format,
    text: deepseek('f\n```json\n{"a": 1}\n```', "tool<｜tool▁sep｜>"),
    calls: [["f", { a: 1 }]],
  },
]);

const call = (name: string): string => `{"name": "${name}", "parameters": {"a": 1}}`;
const LLAMA4: ParserCase[] = [
  { name: "JSON at the start", text: call("f"), calls: [["f", { a: 1 }]] },
  {
    name: "JSON after empty tags",
    text: `<|python_start|><|python_end|>${call("f")}<|eot|>`,
    calls: [["f", { a: 1 }]],
  },
  {
    name: "two JSON calls after what is said in the tags",
    text: `<|python_start|>I will [look] up "it".<|python_end|>${call("f")}${call("g")}<|eot|>`,
    content: 'I will [look] up "it".',
    calls: [
      ["f", { a: 1 }],
      ["g", { a: 1 }],
    ],
  },
  {
    name: "JSON in the tags",
    text: `Hm.<|python_start|>${call("f")}<|python_end|>`,
    content: "Hm.",
    calls: [["f", { a: 1 }]],
  },
  { name: "a JSON list in the tags", text: `<|python_start|>[${call("f")}]<|python_end|>`, calls: [["f", { a: 1 }]] },
  {
    name: "one broken of two after the tags",
    text: `<|python_start|><|python_end|>{"name": "f", "parameters": {"a": oops}}${call("g")}`,
    calls: [["g", { a: 1 }]],
    errors: ["not valid JSON"],
  },
  { name: "cut JSON", text: '<|python_start|><|python_end|>{"name": "f", "para', errors: ["truncated"] },
  { name: "prose in the tags", text: "<|python_start|>Hm.<|python_end|>", content: "Hm.", errors: ["no call"] },
  {
    name: "broken JSON before a tag",
    text: '{"name"{"name": "Ada"} <|python_start|>[f(a=1)]<|python_end|>',
    content: '{"name"{"name": "Ada"}',
    calls: [["f", { a: 1 }]],
  },
  { name: "other JSON", text: '{"name": "Ada"} [1] [{"x": 2}]', content: '{"name": "Ada"} [1] [{"x": 2}]' },
].map((given) => ({ ...given, format: "llama4_pythonic" }) as ParserCase);

const JSON_SLIPS = ["json", "llama3_json"].flatMap((format): ParserCase[] => [
  { name: "single quotes", format, text: "{'name': 'g', 'arguments': {}}", calls: [["g", {}, REPAIRED]] },
  {
    name: "typographic quotes",
    format,
    text: '{“name”: “f”, “arguments”: {“a”: "“b”"}}',
    calls: [["f", { a: "“b”" }, REPAIRED]],
  },
  {
    name: "another key first",
    format,
    text: 'So: {"thought": "hm {", "name": "g", "arguments": {}}.',
    content: "So: .",
    calls: [["g", {}]],
  },
  {
    name: "another key first, in a list and a code block",
    format,
    text: '```json\n[{"thought": "hm", "name": "g", "arguments": {}}, {"name": "f", "arguments": {}}]\n```',
    calls: [
      ["g", {}],
      ["f", {}],
    ],
  },
  {
    name: "a call in a broken object",
    format,
    text: '{"broken": 1, {"name": "f", "arguments": {}}',
    content: '{"broken": 1,',
    calls: [["f", {}]],
  },
  ...[
    "Use {'name': 'Ada', 'age': 3} or {x, y} or {\"a\": 1}.",
    'body { "color": "red" } and {"a": "b", "c": {"d": [1]}} and {\'a\': 1}',
    "He said {“quoted”} and {‘so’}: {",
    "f'{name}' {{'name'}} {\"name\"}",
  ].map((text): ParserCase => ({ name: `prose: ${text}`, format, text, content: text })),
]);

const MISTRAL: ParserCase[] = [
  {
    name: "a second list",
    format: "mistral",
    text: '[TOOL_CALLS][{"name": "f", "arguments": {}}][{"name": "g", "arguments": {"a": 1}}]',
    calls: [
      ["f", {}, REPAIRED],
      ["g", { a: 1 }, REPAIRED],
    ],
  },
  ...["\t", "\r\n", "\n\n "].map((space): ParserCase => ({
    name: `a list with ${JSON.stringify(space)} after its bracket`,
    format: "mistral",
    text: `[TOOL_CALLS][${space}{"name": "f", "arguments": {"a": 1}}]`,
    calls: [["f", { a: 1 }]],
  })),
  {
    name: "a broken list before a call",
    format: "mistral",
    text: '[{"name"[{"name": "Ada"}]\nNow.[TOOL_CALLS]ping{}',
    content: '[{"name"[{"name": "Ada"}]\nNow.',
    calls: [["ping", {}]],
  },
  {
    name: "prose after the mark",
    format: "mistral",
    text: '[TOOL_CALLS]I will call {"a": 1}',
    content: '{"a": 1}',
    errors: ["no name follows the mark"],
  },
  {
    name: "a second name without its mark",
    format: "mistral",
    text: '[TOOL_CALLS]f{"x":1}, g{}\nh[ARGS]{"y": 2} Done [1] {x}.',
    content: "Done [1] {x}.",
    calls: [
      ["f", { x: 1 }],
      ["g", {}, REPAIRED],
      ["h", { y: 2 }, REPAIRED],
    ],
  },
  {
    name: "prose after a list",
    format: "mistral",
    text: '[TOOL_CALLS][{"name": "f", "arguments": {}}] [1] [{x}], {y}',
    content: "[1] [{x}], {y}",
    calls: [["f", {}]],
  },
  { name: "null arguments", format: "mistral", text: "[TOOL_CALLS]f[ARGS]null", calls: [["f", {}]] },
  { name: "null, and the end", format: "mistral", text: "[TOOL_CALLS]f[ARGS]null</s>", calls: [["f", {}]] },
  { name: "no arguments", format: "mistral", text: "[TOOL_CALLS]f[ARGS]</s>", calls: [["f", {}, REPAIRED]] },
  { name: "an empty list", format: "mistral", text: "[TOOL_CALLS][]", errors: ["a list of calls without a call"] },
  ...[
    ["mistral", "[TOOL_CALLS]f[ARGS]", "</s>"],
    ["kimi_k2", "<|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>", "<|tool_call_end|>"],
    ["gpt_oss", "<|channel|>commentary to=functions.f<|message|>", "<|call|>"],
    ["deepseek_v3_1", "<｜tool▁call▁begin｜>f<｜tool▁sep｜>", "<｜tool▁call▁end｜>"],
  ].map(([format, head, end]): ParserCase => ({
    name: "arguments as a JSON string that holds the end of a call",
    format: format!,
    text: `${head}${JSON.stringify(JSON.stringify({ a: end }))}${end}`,
    calls: [["f", { a: end }, format === "kimi_k2" ? { id: "functions.f:0" } : {}]],
  })),
];

const PYTHON: ParserCase[] = [
  {
    name: "escapes",
    text: String.raw`[f(a="\101\0\x41", b="\a\v\7", c="\d \New", d=r"\101")]`,
    calls: [["f", { a: "A\0A", b: "\x07\v\x07", c: "\\d \\New", d: "\\101" }]],
  },
  {
    name: "a letter by its name",
    text: String.raw`[f(a="\N{BULLET}"), g()]`,
    calls: [["g", {}]],
    errors: ["not a literal"],
  },
  {
    name: "comments",
    text: "[f(a=1), # it's (one\n g( # first\n b=[1, # )\n 2], # last\n ) # hi\n]",
    calls: [
      ["f", { a: 1 }],
      ["g", { b: [1, 2] }],
    ],
  },
  {
    name: "no comment, but a quote left out",
    text: "[f(a=#fff), g()]\nSo.",
    content: "So.",
    calls: [["g", {}]],
    errors: ["not a literal"],
  },
  { name: "the tag of Llama 3 before a list", text: "<|python_tag|>[f(a=1)]<|eom_id|>", calls: [["f", { a: 1 }]] },
  { name: "the tag of Llama 3 before code", text: "<|python_tag|>print(1)", content: "<|python_tag|>print(1)" },
].flatMap((given) => ["pythonic", "llama4_pythonic"].map((format) => ({ ...given, format }) as ParserCase));

const REST: ParserCase[] = [
  {
    name: "code for python",
    format: "gpt_oss",
    text: "<|channel|>analysis to=python code<|message|>print(1)<|call|>",
    errors: ["the message to python is code"],
  },
  {
    name: "JSON for a tool that is called python",
    format: "gpt_oss",
    text: '<|channel|>commentary to=python<|message|>{"code": "1"}<|call|>',
    calls: [["python", { code: "1" }]],
  },
  {
    name: "literals of Python alone",
    format: "pythonic",
    text: `[f(a=0xff, b=-0b11, c=1_000, d=0o17, e=0xFFFFFFFFFFFFFFFF, g=r'a\\d\\'', h='a' "b"\n'''c''', i=u'x'), g()]`,
    calls: [
      ["f", { a: 255, b: -3, c: 1000, d: 15, e: 0xffffffffffffffffn, g: "a\\d\\'", h: "abc", i: "x" }],
      ["g", {}],
    ],
  },
  {
    name: "parentheses, which make no tuple without a comma",
    format: "pythonic",
    text: `[f(a=("long "\n  "string"), b=(-1), c=[("x"), ("y",)], d=(), e=((1), 2), g=({"k": (None)}), s=(3.10), h=(1))]`,
    options: { tools: [tool("f", { s: { type: "string" } })] },
    calls: [["f", { a: "long string", b: -1, c: ["x", ["y"]], d: [], e: [1, 2], g: { k: null }, s: "3.10", h: 1 }]],
  },
  ...["(,)", "(1,,)", "(1 2)"].map((value): ParserCase => ({
    name: `parentheses that are wrong: ${value}`,
    format: "pythonic",
    text: `[f(a=${value})]`,
    errors: ["not a literal"],
  })),
  {
    name: "strings side by side in JSON are no string",
    format: "hermes",
    text: '<tool_call>{"name": "f", "arguments": {"l": ["a" "b"]}}</tool_call>',
    errors: ["not valid JSON"],
  },
  {
    name: "letters beyond ASCII in names",
    format: "glm45",
    text: "<tool_call>查询é\n<arg_key>城市</arg_key>\n<arg_value>北京</arg_value>\n</tool_call>",
    calls: [["查询é", { 城市: "北京" }]],
  },
  {
    name: "text in a section",
    format: "kimi_k2",
    text: "<|tool_calls_section_begin|>First this.\n<|tool_call_begin|>f:0<|tool_call_argument_begin|>{}<|tool_call_end|> then <|tool_call_begin|>g:1<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|>",
    content: "First this.\n then",
    calls: [
      ["f", {}, { id: "f:0" }],
      ["g", {}, { id: "g:1" }],
    ],
  },
  {
    name: "text in a section without a call",
    format: "kimi_k2",
    text: "<|tool_calls_section_begin|>Nothing.<|tool_calls_section_end|>",
    content: "Nothing.",
    errors: ["without a call"],
  },
  {
    name: "nesting beyond reason",
    format: "hermes",
    text: `<tool_call>{"name": "f", "arguments": {"a": ${"[".repeat(300)}${"]".repeat(300)}}}</tool_call>`,
    errors: ["not valid JSON"],
  },
  {
    name: "a number that is too large",
    format: "hermes",
    text: '<tool_call>{"name": "f", "arguments": {"x": [1e400]}}</tool_call>',
    errors: ["not valid JSON"],
  },
  {
    name: "a number that is too large, in text",
    format: "hermes",
    text: '<tool_call>{"name": "f", "arguments": "{\\"x\\": -1e400}"}</tool_call>',
    errors: [NO_OBJECT],
  },
  {
    name: "a number that is too large, as bare text",
    format: "qwen3_coder",
    text: "<tool_call>\n<function=f>\n<parameter=n>\n1e400\n</parameter>\n<parameter=x>\n1e400\n</parameter>\n</function>\n</tool_call>",
    options: { tools: [tool("f", { n: { type: "number" } })] },
    calls: [["f", { n: "1e400", x: "1e400" }, { mistyped: ["n"] }]],
  },
  {
    name: "a closing tag where the prompt opened nothing",
    format: "hermes",
    text: '<tool_call>{"name": "f", "arguments": {}}</tool_call>\n</think>',
    options: { startsInReasoning: false },
    content: "</think>",
    calls: [["f", {}]],
  },
  {
    name: "reasoning of its own where the prompt opened none",
    format: "hermes",
    text: '<think>Hm.</think><tool_call>{"name": "f", "arguments": {}}</tool_call>',
    options: { startsInReasoning: false },
    reasoning: "Hm.",
    calls: [["f", {}]],
  },
  {
    name: "a call recovered from reasoning that the prompt opened",
    format: "hermes",
    text: 'Hm.<tool_call>{"name": "f", "arguments": {}}</tool_call> So.',
    options: { startsInReasoning: true, recoverReasoning: true },
    reasoning: "Hm. So.",
    calls: [["f", {}]],
  },
];

/** What models slip into, and people found: quotes, literals, layouts that are nearly right. */
export const SLIP_CASES: readonly ParserCase[] = [
  ...DEEPSEEK,
  ...LLAMA4,
  ...JSON_SLIPS,
  ...MISTRAL,
  ...PYTHON,
  ...REST,
];
