import { tool, type ParserCase } from "./public-reports.ts";

const REPAIRED = { repaired: true };
const TOOLS = [tool("f", {})];

const MISTRAL: ParserCase[] = [
  {
    name: "an id",
    format: "mistral",
    text: '[TOOL_CALLS]f[CALL_ID]abc[ARGS]{"a": 1}</s>',
    calls: [["f", { a: 1 }, { id: "abc" }]],
  },
  { name: "an empty object", format: "mistral", text: "[TOOL_CALLS]f[ARGS]{}", calls: [["f", {}]] },
  {
    name: "a mark for arguments, and the next call after it",
    format: "mistral",
    text: '[TOOL_CALLS]f[ARGS][TOOL_CALLS]g[ARGS]{"a": 1}',
    calls: [
      ["f", {}, REPAIRED],
      ["g", { a: 1 }],
    ],
  },
  {
    name: "reasoning",
    format: "mistral",
    text: "[THINK][TOOL_CALLS]draft{}[/THINK]Hm.[TOOL_CALLS]f{}",
    reasoning: "[TOOL_CALLS]draft{}",
    content: "Hm.",
    calls: [["f", {}]],
  },
  {
    name: "a broken item",
    format: "mistral",
    text: '[TOOL_CALLS][{"name": "a", "arguments": {"x": tru}}, {"name": "b", "arguments": {}}]',
    calls: [["b", {}]],
    errors: ["not valid JSON"],
  },
  {
    name: "an item with a stray quote",
    format: "mistral",
    text: '[TOOL_CALLS][{"name": "a", "arguments": {"x": "say "hi""}}, {"name": "b", "arguments": {}}]',
    calls: [["b", {}]],
    errors: ["not valid JSON"],
  },
  {
    name: "single quotes",
    format: "mistral",
    text: "[TOOL_CALLS] [{'name': 'f', 'arguments': {'a': 'it\\'s'}}]",
    calls: [["f", { a: "it's" }, REPAIRED]],
  },
  {
    name: "an unclosed list",
    format: "mistral",
    text: '[TOOL_CALLS] [{"name": "a", "arguments": {}}, {"name": "b", "argu',
    calls: [["a", {}, REPAIRED]],
    errors: ["truncated"],
  },
  {
    name: "one of two broken",
    format: "mistral",
    text: "[TOOL_CALLS]f[ARGS]{oops[TOOL_CALLS]g[ARGS]{}",
    calls: [["g", {}]],
    errors: ["not valid JSON"],
  },
  { name: "cut after the name", format: "mistral", text: "[TOOL_CALLS]get_wea", errors: ["truncated"] },
  { name: "cut in the arguments", format: "mistral", text: '[TOOL_CALLS]f[ARGS]{"a": {"b": 1}', errors: ["truncated"] },
];

const JSON_FORMATS: ParserCase[] = [
  {
    name: "bare, nested",
    format: "llama3_json",
    text: '{"name": "f", "parameters": {"a": {"b": {"c": [1, {}]}}}}<|eot_id|>',
    calls: [["f", { a: { b: { c: [1, {}] } } }]],
  },
  {
    name: "bare, two of them",
    format: "llama3_json",
    text: '{"name": "f", "parameters": {}}; {"name": "g", "parameters": {}}',
    calls: [
      ["f", {}],
      ["g", {}],
    ],
  },
  {
    name: "prose before",
    format: "llama3_json",
    text: 'Sure {really}: {"name": "f", "parameters": {}}',
    content: "Sure {really}:",
    calls: [["f", {}]],
  },
  {
    name: "a form of function",
    format: "llama3_json",
    text: '{"type": "function", "name": "f", "parameters": {"a": "1"}}',
    calls: [["f", { a: "1" }]],
  },
  {
    name: "JSON that is no call",
    format: "llama3_json",
    text: '{"name": "Ada", "age": 36}',
    content: '{"name": "Ada", "age": 36}',
  },
  {
    name: "one broken of two",
    format: "llama3_json",
    text: '<|python_tag|>{"name": "f", "parameters": {"a": oops}}; {"name": "g", "parameters": {}}<|eom_id|>',
    calls: [["g", {}]],
    errors: ["not valid JSON"],
  },
  {
    name: "a built-in tool",
    format: "llama3_json",
    text: '<|python_tag|>brave_search.call(query="a, (b)")',
    calls: [["brave_search", { query: "a, (b)" }]],
  },
  {
    name: "code",
    format: "llama3_json",
    text: "<|python_tag|>import math\nprint(1)<|eom_id|>",
    errors: ["neither JSON nor a call"],
  },
  { name: "cut", format: "llama3_json", text: '<|python_tag|>{"name": "f", "parameters": {"a', errors: ["truncated"] },
  { name: "cut, bare", format: "llama3_json", text: '{"name": "f", "param', errors: ["truncated"] },
  {
    name: "a code block",
    format: "json",
    text: 'So:\n```json\n{"name": "f", "arguments": {"a": 1}}\n```\nDone.',
    content: "So:\n\nDone.",
    calls: [["f", { a: 1 }]],
  },
  {
    name: "a list",
    format: "json",
    text: '[{"name": "f", "arguments": {}}, {"name": "g", "arguments": {"a": "]"}}]',
    calls: [
      ["f", {}],
      ["g", { a: "]" }],
    ],
  },
  {
    name: "other JSON, other code",
    format: "json",
    text: '```py\nx = {"name": 1}\n``` [1] {"answer": 5}',
    content: '```py\nx = {"name": 1}\n``` [1] {"answer": 5}',
  },
  {
    name: "a call lost in a broken object",
    format: "json",
    text: '{"name":{"name": "f", "arguments": {"a": 1}}\nDone.',
    errors: ["not valid JSON"],
  },
  {
    name: "a bare name of a tool on offer",
    format: "json",
    text: '{"name": "f"}',
    options: { tools: TOOLS },
    calls: [["f", {}]],
  },
  {
    name: "reasoning",
    format: "json",
    text: '<think>{"name": "a", "arguments": {}}</think>{"name": "f", "arguments": {}}',
    reasoning: '{"name": "a", "arguments": {}}',
    calls: [["f", {}]],
  },
];

const PYTHONIC: ParserCase[] = [
  {
    name: "literals",
    format: "pythonic",
    text: `[f(a=-5, b=+1.5, c='it\\'s', d="x, (y)]", e=[1, [2]], g={'k': (True, None)}, from=1), g()]`,
    calls: [
      ["f", { a: -5, b: 1.5, c: "it's", d: "x, (y)]", e: [1, [2]], g: { k: [true, null] }, from: 1 }],
      ["g", {}],
    ],
  },
  {
    name: "with tags",
    format: "llama4_pythonic",
    text: "Hm.<|python_start|>[f(a=1)]<|python_end|><|eot|>",
    content: "Hm.",
    calls: [["f", { a: 1 }]],
  },
  {
    name: "triple quotes, line breaks, a backslash",
    format: "pythonic",
    text: `[run(code="""print("hi")\nx = 'a]'""", tail='pattern \\\\', raw='a\nb')]`,
    calls: [["run", { code: "print(\"hi\")\nx = 'a]'", tail: "pattern \\", raw: "a\nb" }]],
  },
  {
    name: "one broken of three",
    format: "pythonic",
    text: "[a(x=1), b(x=other(2)), c.d-e(x=3)]",
    calls: [
      ["a", { x: 1 }],
      ["c.d-e", { x: 3 }],
    ],
    errors: ["not a literal"],
  },
  { name: "positional arguments", format: "pythonic", text: '[f("a")]', errors: ["by name"] },
  {
    name: "no closing bracket",
    format: "pythonic",
    text: '[f(q=["a", "b"])',
    calls: [["f", { q: ["a", "b"] }, REPAIRED]],
  },
  {
    name: "a large integer",
    format: "pythonic",
    text: "[f(i=9007199254740993)]",
    calls: [["f", { i: 9007199254740993n }]],
  },
  {
    name: "prose and links",
    format: "pythonic",
    text: "See [1], [the page](http://x.y/z) and [g(x)].",
    content: "See [1], [the page](http://x.y/z) and [g(x)].",
  },
  {
    name: "prose before",
    format: "pythonic",
    text: "Go: [f(a=1)] now",
    options: { tools: TOOLS },
    content: "Go:  now",
    calls: [["f", { a: 1 }]],
  },
  {
    name: "cut",
    format: "pythonic",
    text: '[f(a=1), g(b="x',
    calls: [["f", { a: 1 }, REPAIRED]],
    errors: ["truncated"],
  },
  {
    name: "not in a list",
    format: "llama4_pythonic",
    text: "<|python_start|>f(a=1)<|python_end|>",
    calls: [["f", { a: 1 }, REPAIRED]],
  },
];

const HARMONY: ParserCase[] = [
  {
    name: "reasoning, a call, an answer",
    format: "gpt_oss",
    text: '<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>commentary to=functions.f <|constrain|>json<|message|>{"a": "<|end|>"}<|call|><|start|>assistant<|channel|>final<|message|>Done.<|return|>',
    reasoning: "Hm.",
    content: "Done.",
    calls: [["f", { a: "<|end|>" }]],
  },
  {
    name: "a tool's result that the model makes up",
    format: "gpt_oss",
    text: '<|channel|>commentary to=functions.f <|constrain|>json<|message|>{"a": 1}<|call|><|start|>functions.f to=assistant<|channel|>commentary<|message|>{"r": 2}<|end|><|start|>assistant<|channel|>final<|message|>2<|return|>',
    content: "2",
    calls: [["f", { a: 1 }]],
  },
  {
    name: "a question that the model makes up",
    format: "gpt_oss",
    text: "<|channel|>final<|message|>Hi.<|end|><|start|>user<|message|>Call f.<|end|>",
    content: "Hi.",
  },
  {
    name: "the recipient before the channel",
    format: "gpt_oss",
    text: '<|start|>assistant to=functions.f<|channel|>commentary <|constrain|>json<|message|>{"a": 1}<|call|>',
    calls: [["f", { a: 1 }]],
  },
  {
    name: "the recipient first, its start in the prompt",
    format: "gpt_oss",
    text: ' to=functions.f<|channel|>commentary json<|message|>{"a": 1}',
    calls: [["f", { a: 1 }]],
  },
  {
    name: "a call in the analysis channel",
    format: "gpt_oss",
    text: '<|channel|>analysis to=functions.f code<|message|>{"a": 1}<|call|>',
    calls: [["f", { a: 1 }]],
  },
  {
    name: "no stop token",
    format: "gpt_oss",
    text: '<|channel|>commentary to=functions.f<|constrain|>json<|message|>{"a": 1}',
    calls: [["f", { a: 1 }]],
  },
  {
    name: "a preamble",
    format: "gpt_oss",
    text: "<|channel|>commentary<|message|>I will look.<|end|>",
    content: "I will look.",
  },
  {
    name: "analysis that runs into the call",
    format: "gpt_oss",
    text: "<|channel|>analysis<|message|>Hm.<|channel|>commentary to=functions.f<|message|>{}<|call|>",
    reasoning: "Hm.",
    calls: [["f", {}]],
  },
  {
    name: "one of two broken",
    format: "gpt_oss",
    text: "<|channel|>commentary to=functions.f<|message|>{oops<|call|><|start|>assistant<|channel|>commentary to=functions.g<|message|>{}<|call|>",
    calls: [["g", {}]],
    errors: ["not valid JSON"],
  },
  {
    name: "cut in the arguments",
    format: "gpt_oss",
    text: '<|channel|>commentary to=functions.f<|message|>{"a',
    errors: ["truncated"],
  },
  { name: "cut in the header", format: "gpt_oss", text: "<|channel|>commentary to=functions.f", errors: ["truncated"] },
];

/** Formats that start a call with a token or with the call itself. */
export const TOKEN_CASES: readonly ParserCase[] = [...MISTRAL, ...JSON_FORMATS, ...PYTHONIC, ...HARMONY];
