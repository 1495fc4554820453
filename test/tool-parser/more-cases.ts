import { DEEPSEEK_CASES } from "./deepseek-cases.ts";
import { END_CASES } from "./end-cases.ts";
import { MENTION_CASES } from "./mention-cases.ts";
import type { ParserCase } from "./public-reports.ts";
import { QUOTED_CALL_CASES } from "./quoted-call-cases.ts";
import { SCHEMA_CASES } from "./schema-cases.ts";
import { DATA_CASES } from "./data-cases.ts";
import { LEFT_OUT_CASES } from "./left-out-cases.ts";
import { SLIP_CASES } from "./slip-cases.ts";
import { TAG_CASES } from "./tag-cases.ts";
import { TOKEN_CASES } from "./token-cases.ts";
import { hermes, TYPED_TOOLS } from "./typed-tool.ts";
import { VALUE_RULE_CASES } from "./value-rule-cases.ts";
import { XML_CASES } from "./xml-cases.ts";

const REPAIRED = { repaired: true };

const kimi = (calls: string): string => `<|tool_calls_section_begin|>${calls}<|tool_calls_section_end|>`;
const deepseek = (calls: string): string => `<｜tool▁calls▁begin｜>${calls}<｜tool▁calls▁end｜>`;
const v3 = (name: string, args: string): string =>
  `<｜tool▁call▁begin｜>function<｜tool▁sep｜>${name}\n\`\`\`json\n${args}\n\`\`\`<｜tool▁call▁end｜>`;
const v31 = (name: string, args: string): string =>
  `<｜tool▁call▁begin｜>${name}<｜tool▁sep｜>${args}<｜tool▁call▁end｜>`;

const PING = hermes('{"name": "ping", "arguments": {}}');
const LOST = "tool call inside reasoning that nothing follows";

/** Reasoning that closed, with all that the answer has in it. */
const THOUGHTS: ParserCase[] = [
  {
    name: "a call in closed reasoning that nothing follows",
    format: "hermes",
    text: `<think>\nLet me ping.\n${PING}\n</think>\n\n<|im_end|>`,
    reasoning: `Let me ping.\n${PING}`,
    errors: [LOST],
  },
  {
    name: "the same, recovered",
    format: "hermes",
    text: `<think>\nLet me ping.\n${PING}\n</think>\n\n<|im_end|>`,
    options: { recoverReasoning: true },
    reasoning: "Let me ping.",
    calls: [["ping", {}]],
  },
  {
    name: "the same, where the prompt had the opening tag",
    format: "hermes",
    text: `Let me ping.\n${PING}\n</think>\n`,
    reasoning: `Let me ping.\n${PING}`,
    errors: [LOST],
  },
  {
    name: "the same, recovered where the prompt had the opening tag",
    format: "hermes",
    text: `Let me ping.\n${PING}\n</think>\n`,
    options: { recoverReasoning: true },
    reasoning: "Let me ping.",
    calls: [["ping", {}]],
  },
  {
    name: "the same, told that the prompt had the opening tag",
    format: "hermes",
    text: `${PING}${hermes("{bad}")}</think>`,
    options: { recoverReasoning: true, startsInReasoning: true },
    calls: [["ping", {}]],
    errors: ["not valid JSON"],
  },
  {
    name: "a call in closed reasoning, then reasoning that never closes",
    format: "hermes",
    text: `<think>${PING}</think><think>Hm.`,
    reasoning: `${PING}Hm.`,
    errors: [LOST],
  },
  {
    name: "the same, recovered, with a draft in closed reasoning",
    format: "hermes",
    text: `<think>${PING}</think>\n<think>Hm. ${PING}`,
    options: { recoverReasoning: true },
    reasoning: `${PING}Hm.`,
    calls: [["ping", {}]],
  },
  {
    name: "a draft in closed reasoning that an answer follows, with recovery",
    format: "hermes",
    text: `<think>${PING}</think>\nDone.<think>Hm.</think> So.`,
    options: { recoverReasoning: true },
    reasoning: `${PING}Hm.`,
    content: "Done. So.",
  },
  {
    name: "reasoning without a call that nothing follows",
    format: "hermes",
    text: "<think>Hm.</think>\n",
    options: { recoverReasoning: true },
    reasoning: "Hm.",
  },
  {
    name: "a call in closed reasoning that nothing follows, without tags",
    format: "json",
    text: '<think>{"name": "ping", "arguments": {}}</think>',
    reasoning: '{"name": "ping", "arguments": {}}',
    errors: [LOST],
  },
];

const HERMES: ParserCase[] = [
  { name: "no call", format: "hermes", text: "hi", content: "hi" },
  ...['"s": "x"', '"args": {"s": "x"}', '"id": "1", "input": {"s": "x"}'].map((rest): ParserCase => ({
    name: `arguments in another place: ${rest}`,
    format: "hermes",
    text: hermes(`{"name": "f", ${rest}}`),
    errors: ["no arguments"],
  })),
  {
    name: "arguments of a known tool in another place",
    format: "json",
    text: '{"name": "f", "s": "x"} {"name": "other", "s": "x"}',
    options: { tools: TYPED_TOOLS },
    content: '{"name": "other", "s": "x"}',
    errors: ['the call has no arguments, but "s"'],
  },
  {
    name: "no arguments, beside what other formats add",
    format: "hermes",
    text: hermes('{"type": "function", "id": "1", "index": 0, "name": "f"}'),
    calls: [["f", {}, { id: "1" }]],
  },
  {
    name: "numbers where text is wanted",
    format: "hermes",
    text: hermes(
      '{"name": "f", "arguments": {"s": 3.10, "o": {"id": 1.0}, "either": 1e2, "maybe": 12345678901234567890}}',
    ),
    options: { tools: TYPED_TOOLS },
    calls: [["f", { s: "3.10", o: { id: "1.0" }, either: 100, maybe: "12345678901234567890" }]],
  },
  {
    name: "numbers where text is wanted, in broken JSON",
    format: "hermes",
    text: hermes("{'name': 'f', 'arguments': {'s': 3.10, 'o': {'id': -0.50}}}"),
    options: { tools: TYPED_TOOLS },
    calls: [["f", { s: "3.10", o: { id: "-0.50" } }, REPAIRED]],
  },
  {
    name: "numbers where text is wanted, in Python",
    format: "pythonic",
    text: "[f(s=3.10, o={'id': 1.0})]",
    options: { tools: TYPED_TOOLS },
    calls: [["f", { s: "3.10", o: { id: "1.0" } }]],
  },
  {
    name: "end tokens are dropped at the end only",
    format: "hermes",
    text: "a<|im_end|>b<|im_end|>\n<|endoftext|>",
    content: "a<|im_end|>b",
  },
  {
    name: "a draft in closed reasoning is no call",
    format: "hermes",
    text: `<think>\nMaybe ${hermes('{"name": "draft", "arguments": {}}')}?\n</think>\n${hermes('{"name": "real", "arguments": {}}')}`,
    reasoning: `Maybe ${hermes('{"name": "draft", "arguments": {}}')}?`,
    calls: [["real", {}]],
  },
  {
    name: "reasoning whose opening tag the prompt had",
    format: "hermes",
    text: `Maybe ${hermes('{"name": "draft", "arguments": {}}')}?\n</think>\n${hermes('{"name": "real", "arguments": {}}')}`,
    reasoning: `Maybe ${hermes('{"name": "draft", "arguments": {}}')}?`,
    calls: [["real", {}]],
  },
  {
    name: "the same, told before",
    format: "hermes",
    text: `Maybe.\n</think>\n${hermes('{"name": "real", "arguments": {"t": "</think>"}}')}`,
    options: { startsInReasoning: true },
    reasoning: "Maybe.",
    calls: [["real", { t: "</think>" }]],
  },
  ...THOUGHTS,
  {
    name: "one broken call of three",
    format: "hermes",
    text: [
      hermes('{"name": "a", "arguments": {}}'),
      hermes("{nonsense"),
      hermes('{"name": "b", "arguments": {}}'),
    ].join("\n"),
    calls: [
      ["a", {}],
      ["b", {}],
    ],
    errors: ["not valid JSON"],
  },
  {
    name: "a quote that never closes takes no neighbour along",
    format: "hermes",
    text: `${hermes('{"name": "a", "arguments": {"x": "abc}}')}${hermes('{"name": "b", "arguments": {}}')}`,
    calls: [["b", {}]],
    errors: ["not valid JSON"],
  },
  {
    name: "text around calls",
    format: "hermes",
    text: `x${hermes('{"name": "f", "arguments": {}}')}y${hermes('{"name": "g", "arguments": {}}')}z`,
    content: "xyz",
    calls: [
      ["f", {}],
      ["g", {}],
    ],
  },
  {
    name: "a missing brace",
    format: "hermes",
    text: hermes('{"name": "f", "arguments": {"a": 1}'),
    calls: [["f", { a: 1 }, REPAIRED]],
  },
  {
    name: "a brace too many",
    format: "hermes",
    text: hermes('{"name": "f", "arguments": {"a": 1}}}'),
    calls: [["f", { a: 1 }, REPAIRED]],
  },
  {
    name: "Python literals, with the closing tag in a string",
    format: "hermes",
    text: hermes("{'name': 'f', 'arguments': {'a': True, 'b': None, 'c': 'it\\'s </tool_call>', 'd': (1, 2,)}}"),
    calls: [["f", { a: true, b: null, c: "it's </tool_call>", d: [1, 2] }, REPAIRED]],
  },
  {
    name: "line breaks in a string",
    format: "hermes",
    text: hermes('{"name": "f", "arguments": {"a": "x\ny"}}'),
    calls: [["f", { a: "x\ny" }, REPAIRED]],
  },
  {
    name: "a trailing comma",
    format: "hermes",
    text: hermes('{"name": "f", "arguments": {"a": 1,},}'),
    calls: [["f", { a: 1 }, REPAIRED]],
  },
  {
    name: "UTF-8, escaped or not, and a cut pair of units",
    format: "hermes",
    text: hermes('{"name": "f", "arguments": {"a": "Zürich 東京 \\u00e9 😀"}}'),
    calls: [["f", { a: "Zürich 東京 é 😀" }]],
  },
  {
    name: "brackets and quotes in strings",
    format: "hermes",
    text: hermes('{"name": "f", "arguments": {"a": "}]{[ \\" \\\\", "b": {"c": [{"d": {}}]}}}'),
    calls: [["f", { a: '}]{[ " \\', b: { c: [{ d: {} }] } }]],
  },
  {
    name: "no closing tag",
    format: "hermes",
    text: 'Go: <tool_call>{"name": "f", "arguments": {}}',
    content: "Go:",
    calls: [["f", {}, REPAIRED]],
  },
  {
    name: "no closing tag before the next call",
    format: "hermes",
    text: '<tool_call>{"name": "f", "arguments": {}}\n<tool_call>{"name": "g", "arguments": {}}</tool_call>',
    calls: [
      ["f", {}, REPAIRED],
      ["g", {}],
    ],
  },
  {
    name: "cut in a string",
    format: "hermes",
    text: '<tool_call>{"name": "f", "arguments": {"a": "b',
    errors: ["truncated"],
  },
  { name: "cut after the tag", format: "hermes", text: "Hm. <tool_call>\n", content: "Hm.", errors: ["truncated"] },
  {
    name: "no call of an answer that was cut off is run",
    format: "hermes",
    text: `${hermes('{"name": "f", "arguments": {}}')}<tool_call>{"name": "g"`,
    options: { finishReason: "length" },
    errors: ["cut off", "truncated"],
  },
  {
    name: "several calls in one tag",
    format: "hermes",
    text: hermes('{"name": "f", "arguments": {}}\n{"name": "g", "arguments": {}}'),
    calls: [
      ["f", {}, REPAIRED],
      ["g", {}, REPAIRED],
    ],
  },
  {
    name: "a list of calls in one tag, one of them broken",
    format: "hermes",
    text: hermes('[{"name": "f", "arguments": {}}, {"name": 3}, {"name": "g", "arguments": {}}]'),
    calls: [
      ["f", {}, REPAIRED],
      ["g", {}, REPAIRED],
    ],
    errors: ["no name"],
  },
  {
    name: "OpenAI's form",
    format: "hermes",
    text: hermes('{"type": "function", "function": {"name": "f", "arguments": "{\\"a\\": 1}"}}'),
    calls: [["f", { a: 1 }]],
  },
  {
    name: "arguments that are text",
    format: "hermes",
    text: hermes('{"name": "f", "arguments": "Oslo"}'),
    errors: ["arguments must be an object"],
  },
  { name: "an empty tag", format: "hermes", text: "<tool_call></tool_call>", errors: ["not valid JSON"] },
  {
    name: "a closing tag alone",
    format: "hermes",
    text: "a</tool_call>",
    content: "a",
    errors: ["closing tag without a call"],
  },
  {
    name: "prose about the tag",
    format: "hermes",
    text: "Use <tool_call> for that.",
    content: "Use <tool_call> for that.",
  },
  { name: "part of a tag", format: "hermes", text: "if a <tool", content: "if a <tool" },
  {
    name: "arguments typed by the schema",
    format: "hermes",
    text: hermes(
      '{"name": "f", "arguments": {"s": 10, "i": "7", "n": "1.5", "b": "true", "maybe": null, "l": ["1", 2], "o": "{\\"id\\": 5}", "x": "1"}}',
    ),
    options: { tools: TYPED_TOOLS },
    calls: [["f", { s: "10", i: 7, n: 1.5, b: true, maybe: null, l: [1, 2], o: { id: "5" }, x: "1" }]],
  },
  {
    name: "a value that fits no type",
    format: "hermes",
    text: hermes('{"name": "f", "arguments": {"i": "2026-01-15", "l": [1, "two"]}}'),
    options: { tools: TYPED_TOOLS },
    calls: [["f", { i: "2026-01-15", l: [1, "two"] }, { mistyped: ["i", "l.1"] }]],
  },
];

const SECTIONS: ParserCase[] = [
  {
    name: "end of section missing, marks in a string",
    format: "kimi_k2",
    text: 'Hm.<|tool_calls_section_begin|>\n<|tool_call_begin|> functions.f:0 <|tool_call_argument_begin|> {"a": "<|tool_call_end|>"} <|tool_call_end|>\n',
    content: "Hm.",
    calls: [["f", { a: "<|tool_call_end|>" }, { id: "functions.f:0" }]],
  },
  {
    name: "one broken call of two",
    format: "kimi_k2",
    text: kimi(
      "<|tool_call_begin|>f:0<|tool_call_argument_begin|>{oops<|tool_call_end|><|tool_call_begin|>ns.g:1<|tool_call_argument_begin|>{}<|tool_call_end|>",
    ),
    calls: [["ns.g", {}, { id: "ns.g:1" }]],
    errors: ["not valid JSON"],
  },
  {
    name: "singular section marks",
    format: "kimi_k2",
    text: "<|tool_call_section_begin|><|tool_call_begin|>f:0<|tool_call_argument_begin|><|tool_call_end|><|tool_call_section_end|><|im_end|>",
    calls: [["f", {}, { id: "f:0" }]],
  },
  {
    name: "no section",
    format: "kimi_k2",
    text: '<|tool_call_begin|>f:0<|tool_call_argument_begin|>{"a": 1}<|tool_call_end|>',
    calls: [["f", { a: 1 }, { id: "f:0" }]],
  },
  { name: "an empty section", format: "kimi_k2", text: kimi(""), errors: ["without a call"] },
  {
    name: "no arguments mark",
    format: "kimi_k2",
    text: kimi("<|tool_call_begin|>f:0<|tool_call_end|>"),
    errors: ["no arguments"],
  },
  {
    name: "cut in the arguments",
    format: "kimi_k2",
    text: '<|tool_calls_section_begin|><|tool_call_begin|>f:0<|tool_call_argument_begin|>{"a": ',
    errors: ["truncated"],
  },
  {
    name: "two calls",
    format: "deepseek_v3",
    text: `Hm.${deepseek(`${v3("f", '{"a": "```"}')}\n${v3("g", "{}")}`)}<｜end▁of▁sentence｜>`,
    content: "Hm.",
    calls: [
      ["f", { a: "```" }],
      ["g", {}],
    ],
  },
  { name: "the layout of V3.1", format: "deepseek_v3", text: deepseek(v31("f", '{"a": 1}')), calls: [["f", { a: 1 }]] },
  { name: "the layout of V3", format: "deepseek_v3_1", text: deepseek(v3("f", '{"a": 1}')), calls: [["f", { a: 1 }]] },
  {
    name: "a code block in an argument, a tool called function",
    format: "deepseek_v3_1",
    text: deepseek(`${v31("function", '{"t": "```json\\n{}\\n``` <｜tool▁call▁end｜>"}')}${v31("g", "")}`),
    calls: [
      ["function", { t: "```json\n{}\n``` <｜tool▁call▁end｜>" }],
      ["g", {}],
    ],
  },
  {
    name: "end of call missing",
    format: "deepseek_v3_1",
    text: deepseek(`<｜tool▁call▁begin｜>f<｜tool▁sep｜>{"a": 1}${v31("g", "{}")}`),
    calls: [
      ["f", { a: 1 }, REPAIRED],
      ["g", {}],
    ],
  },
  {
    name: "arguments in a string",
    format: "deepseek_v3_1",
    text: deepseek(v31("f", "[1]")),
    errors: ["arguments must be an object"],
  },
  {
    name: "a whole call, then a cut one",
    format: "deepseek_v3_1",
    text: `<｜tool▁calls▁begin｜>${v31("f", "{}")}<｜tool▁call▁begin｜>g<｜tool▁sep｜>{"a`,
    calls: [["f", {}]],
    errors: ["truncated"],
  },
  { name: "cut after the outer mark", format: "deepseek_v3_1", text: "<｜tool▁calls▁begin｜>", errors: ["truncated"] },
];

/** Cases of the same kinds as the public reports. */
export const MORE_CASES: readonly ParserCase[] = [
  ...HERMES,
  ...XML_CASES,
  ...SECTIONS,
  ...TOKEN_CASES,
  ...SLIP_CASES,
  ...DATA_CASES,
  ...LEFT_OUT_CASES,
  ...SCHEMA_CASES,
  ...DEEPSEEK_CASES,
  ...END_CASES,
  ...TAG_CASES,
  ...MENTION_CASES,
  ...VALUE_RULE_CASES,
  ...QUOTED_CALL_CASES,
];
