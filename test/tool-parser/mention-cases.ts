import { tool, type ParserCase } from "./public-reports.ts";
import { hermes } from "./typed-tool.ts";

const PING = hermes('{"name": "ping", "arguments": {}}');
const ping = ["ping", {}] as const;
const callOf = (format: string) => (format === "kimi_k2" ? (["ping", {}, { id: "ping" }] as const) : ping);
const SECTION = "<｜tool▁calls▁begin｜>";
const DEEPSEEK = "<｜tool▁call▁begin｜>ping<｜tool▁sep｜>{}<｜tool▁call▁end｜>";

/** A call of `ping` in each format, and the marks that its prose may mention. */
const FORMATS: readonly (readonly [format: string, call: string, ...marks: string[]])[] = [
  ["hermes", PING, "<tool_call>", "</tool_call>", "<|im_end|>", "<think>"],
  ["qwen3_coder", "<tool_call>\n<function=ping>\n</function>\n</tool_call>", "<tool_call>", "<|im_end|>", "<think>"],
  ["glm45", "<tool_call>ping</tool_call>", "<tool_call>", "</tool_call>", "<|observation|>", "<think>"],
  [
    "kimi_k2",
    "<|tool_call_begin|>ping<|tool_call_argument_begin|>{}<|tool_call_end|>",
    "<|tool_calls_section_begin|>",
    "<|tool_call_begin|>",
    "<|tool_call_end|>",
    "<|im_end|>",
    "[EOS]",
  ],
  [
    "deepseek_v3_1",
    DEEPSEEK,
    SECTION,
    "<｜tool▁call▁begin｜>",
    "<｜tool▁call▁end｜>",
    "<｜end▁of▁sentence｜>",
    "<think>",
  ],
  [
    "deepseek_v3_2",
    '<｜DSML｜invoke name="ping">\n</｜DSML｜invoke>',
    "<｜DSML｜function_calls>",
    "<｜DSML｜invoke",
    "</｜DSML｜invoke>",
    "<｜end▁of▁sentence｜>",
  ],
  ["mistral", "[TOOL_CALLS]ping{}", "[TOOL_CALLS]", "</s>", "[THINK]"],
  ["llama3_json", '<|python_tag|>{"name": "ping", "parameters": {}}', "<|python_tag|>", "<|eot_id|>", "<think>"],
  ["llama4_pythonic", "<|python_start|>[ping()]<|python_end|>", "<|python_start|>", "<|python_end|>", "<|eot|>"],
  ["pythonic", "[ping()]", "<|python_tag|>", "<|python_start|>", "<|eot_id|>", "<think>"],
  ["json", '{"name": "ping", "arguments": {}}', "<|im_end|>", "</s>", "<think>"],
];

/** Prose that mentions a mark, with a call on a line of its own, which counts. */
const PROSE = FORMATS.flatMap(([format, call, ...marks]) =>
  marks.flatMap((mark) =>
    [
      `Write \`${mark}\` there.`,
      `It says "${mark}", then.`,
      `The token ${mark} is special.`,
      `I use ${mark}, and more.`,
      `A ${mark} opens (as I said) what \`x\` is.`,
      `A ${mark} and \`x\` are words.`,
      `The ${mark} names what follows.`,
      `I write ${mark} before ${mark} and stop.`,
    ].flatMap((said): ParserCase[] => [
      { name: `prose: ${said}`, format, text: said, content: said },
      {
        name: `a call behind prose: ${said}`,
        format,
        text: `${said}\n${call}`,
        content: said,
        calls: [callOf(format)],
      },
    ]),
  ),
);

const text = (format: string, said: string): ParserCase => ({
  name: `prose: ${JSON.stringify(said)}`,
  format,
  text: said,
  content: said,
});

const REASONING: ParserCase[] = [
  {
    name: "a mention of both tags of reasoning",
    format: "hermes",
    text: `I think between <think> and </think> only.\n${PING}`,
    content: "I think between <think> and </think> only.",
    calls: [ping],
  },
  {
    name: "a mention of the closing tag in quotes",
    format: "hermes",
    text: `${PING} I close with \`</think>\` then.`,
    content: "I close with `</think>` then.",
    calls: [ping],
  },
  {
    name: "a mention in reasoning whose opening tag the prompt had",
    format: "hermes",
    text: `I am in a <think> tag now. ${PING}\n</think>\n${PING}`,
    reasoning: `I am in a <think> tag now. ${PING}`,
    calls: [ping],
  },
  {
    name: "a mention behind the last call",
    format: "hermes",
    text: `${PING}\nUse the tag <think>`,
    content: "Use the tag <think>",
    calls: [ping],
  },
  ...["\n", " \n  ", `${PING} `, ".", "。"].map((before): ParserCase => ({
    name: `reasoning behind ${JSON.stringify(before)}`,
    format: "hermes",
    text: `So${before}<think>Hm.</think>${PING}`,
    reasoning: "Hm.",
    content: `So${before.startsWith(PING) ? "" : before}`.trim(),
    calls: before.startsWith(PING) ? [ping, ping] : [ping],
  })),
  {
    name: "reasoning behind reasoning",
    format: "hermes",
    text: `<think>a</think> <think>b</think>${PING}`,
    reasoning: "ab",
    calls: [ping],
  },
  {
    name: "reasoning in a sentence, of Mistral",
    format: "mistral",
    text: "Use [THINK] tags.[TOOL_CALLS]ping{}",
    content: "Use [THINK] tags.",
    calls: [ping],
  },
];

/** A call that was begun is none that is mentioned, wherever it stands. */
const BEGUN: ParserCase[] = [
  { name: "a call in a line", format: "mistral", text: "Now [TOOL_CALLS] ping {}", content: "Now", calls: [ping] },
  {
    name: "a call in a line, a list",
    format: "mistral",
    text: 'Now [TOOL_CALLS] [{"name": "ping", "arguments": {}}]',
    content: "Now",
    calls: [ping],
  },
  {
    name: "a call without arguments",
    format: "mistral",
    text: "Now.[TOOL_CALLS]ping",
    content: "Now.",
    errors: ["trunc"],
  },
  { name: "a call of no name", format: "mistral", text: "[TOOL_CALLS] the tool", errors: ["truncated"] },
  {
    name: "a known tool in a line",
    format: "mistral",
    text: "Now [TOOL_CALLS] ping",
    options: { tools: [tool("ping", {})] },
    content: "Now",
    errors: ["truncated"],
  },
  {
    name: "a call in a line",
    format: "llama3_json",
    text: 'Now <|python_tag|> {"name": "ping", "parameters": {}}',
    content: "Now",
    calls: [ping],
  },
  {
    name: "a call in a line, as Python",
    format: "llama3_json",
    text: 'Now <|python_tag|> brave_search.call(query="x")',
    content: "Now",
    calls: [["brave_search", { query: "x" }]],
  },
  {
    name: "a broken call in a line",
    format: "llama3_json",
    text: 'Now <|python_tag|> {"name": "ping", oops}',
    content: "Now",
    errors: ["not valid JSON"],
  },
  {
    name: "code in a line",
    format: "llama3_json",
    text: "Now.<|python_tag|>import x",
    content: "Now.",
    errors: ["neither"],
  },
  {
    name: "a call in a line",
    format: "llama4_pythonic",
    text: "Now <|python_start|> [ping()] <|python_end|>",
    content: "Now",
    calls: [ping],
  },
  {
    name: "a call in a line",
    format: "kimi_k2",
    text: "Now <|tool_call_begin|> ping:0 <|tool_call_argument_begin|> {}<|tool_call_end|>",
    content: "Now",
    calls: [["ping", {}, { id: "ping:0" }]],
  },
  {
    name: "a section in a line",
    format: "kimi_k2",
    text: "Now <|tool_calls_section_begin|> <|tool_call_begin|>ping<|tool_call_argument_begin|>{}<|tool_call_end|>",
    content: "Now",
    calls: [["ping", {}, { id: "ping" }]],
  },
  {
    name: "a call in a line, of a distilled model",
    format: "deepseek_v3",
    text: "Now <｜tool▁call▁begin｜> function<｜tool▁sep｜>ping\n```json\n{}\n```<｜tool▁call▁end｜>",
    content: "Now",
    calls: [ping],
  },
  {
    name: "a call in a line",
    format: "deepseek_v3_2",
    text: 'Now <｜DSML｜invoke name="ping">{"a": 1}</｜DSML｜invoke>',
    content: "Now",
    calls: [["ping", { a: 1 }]],
  },
  {
    name: "an empty section in a line",
    format: "kimi_k2",
    text: "Now <|tool_calls_section_begin|><|tool_calls_section_end|>",
    content: "Now",
    errors: ["without a call"],
  },
];

/** What goes on behind the end of a turn, in the same line, and is no prose about its token. */
const TURNS = (
  [
    ["hermes", "So. <|im_end|> <|im_start|>user ", PING],
    ["hermes", "So.<|endoftext|>Question: ", PING],
    ["hermes", "So. <|im_end|>\nuser ", PING],
    ["mistral", "So. </s> [INST] ", "[TOOL_CALLS]ping{}"],
    ["llama3_json", "So.<|eot_id|>user ", '<|python_tag|>{"name": "ping", "parameters": {}}'],
  ] as const
).map(([format, said, call]): ParserCase => ({
  name: `a call behind another turn: ${JSON.stringify(said)}`,
  format,
  text: said + call,
  content: said + call,
  errors: ["after the end of the turn"],
}));

/** Lists of Python that are no calls, where nothing says which tools there are. */
const LISTS = ["pythonic", "llama4_pythonic"].flatMap((format): ParserCase[] => [
  ...[
    "Give it as [Point(1, 2)] then.",
    "Give it as [Point(x=1), Point(x=2)] then.",
    "It is [Point(x=1)]",
    "[Point(x=1)] makes a point.",
    "So:\n[Point(x=1)] makes a point.",
    "So:\n- [Point(x=1)]\n",
  ].map((said) => ({ ...text(format, said.trim()), text: said })),
  { name: "a list on a line", format, text: "So:\n [ping()] \nDone.", content: "So:\n  \nDone.", calls: [ping] },
  { name: "a list on several lines", format, text: "[\n ping(),\n ping()\n]\n", calls: [ping, ping] },
  {
    name: "a list before the end of a turn",
    format,
    text: "[ping()]<|eot|>\nx",
    content: "<|eot|>\nx",
    calls: [ping],
  },
  {
    name: "the name of a tool decides",
    format,
    text: "Now [ping()], and [Point(x=1)].",
    options: { tools: [tool("ping", {})] },
    content: "Now , and [Point(x=1)].",
    calls: [ping],
  },
]);

/** Messages of harmony, which speak of its marks. */
const HARMONY = ["<|call|>", "<|end|>", "<|start|>", "<|channel|>"].flatMap((mark): ParserCase[] =>
  [`Write \`${mark}\` last.`, `It is "${mark}".`].map((said) => ({
    name: `prose: ${said}`,
    format: "gpt_oss",
    text: `<|channel|>final<|message|>${said}<|return|>`,
    content: said,
  })),
);

/** Marks that are spoken of, and those that are not. */
export const MENTION_CASES: readonly ParserCase[] = [...PROSE, ...REASONING, ...BEGUN, ...TURNS, ...LISTS, ...HARMONY];
