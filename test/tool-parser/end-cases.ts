import type { ParserCase } from "./public-reports.ts";
import { hermes } from "./typed-tool.ts";

const REPAIRED = { repaired: true };
const LATE = "tool call after the end of the turn";
const PING = hermes('{"name": "ping", "arguments": {}}');
const CODER = "<tool_call>\n<function=f>\n<parameter=s>\nls\n</parameter>";
const GLM = "<tool_call>f\n<arg_key>s</arg_key>\n<arg_value>a</arg_value>";
const DSML = '<｜DSML｜invoke name="f"><｜DSML｜parameter name="s" string="true">a</｜DSML｜parameter>';
const DEEPSEEK_END = "<｜end▁of▁sentence｜>";

type Read = Omit<ParserCase, "name" | "format" | "text">;
const TRUNCATED: Read = { errors: ["truncated"] };

/** Answers that break off in a call: the token that ends the turn changes nothing. */
const ENDED = (
  [
    ["glm45", "<tool_call>ping", ["<|observation|>", "\n<|user|>", "<|user|>\n<|endoftext|>\n"], TRUNCATED],
    [
      "glm45",
      "<tool_call>ping</tool_call>\n<tool_call>pong",
      ["<|observation|>"],
      { calls: [["ping", {}]], ...TRUNCATED },
    ],
    ["glm45", GLM, ["<|observation|>", "\n<|observation|>"], { calls: [["f", { s: "a" }, REPAIRED]] }],
    ["hermes", "<tool_call>", ["<|im_end|>", "\n<|im_end|>", "<|endoftext|>", "<|im_end|>\n<|endoftext|>"], TRUNCATED],
    ["hermes", '<tool_call>{"name": "f", "argu', ["<|im_end|>"], TRUNCATED],
    ["qwen3_coder", "<tool_call>", ["<|im_end|>", "\n<|im_end|>"], TRUNCATED],
    ["qwen3_coder", CODER, ["<|im_end|>", "\n<|im_end|>\n"], { calls: [["f", { s: "ls" }, REPAIRED]] }],
    ["deepseek_v3_2", DSML, [DEEPSEEK_END, `\n${DEEPSEEK_END}`], { calls: [["f", { s: "a" }, REPAIRED]] }],
    ["deepseek_v3", "<｜tool▁calls▁begin｜>", [DEEPSEEK_END], TRUNCATED],
    ["kimi_k2", "<|tool_calls_section_begin|>", ["<|im_end|>", " <|im_end|>[PAD][PAD]"], TRUNCATED],
    ["pythonic", "[f()", ["<|eot_id|>", " <|eom_id|>"], { calls: [["f", {}, REPAIRED]] }],
    ["llama4_pythonic", "<|python_start|>", ["<|eot|>"], TRUNCATED],
    ["json", '{"name": "f", "arguments": {"a": ', ["<|im_end|>", "\n<|eot_id|>", "</s>"], TRUNCATED],
    ["json", '{"name": "f", "arguments": {"a": "b', ["<|im_end|>", "</s> "], TRUNCATED],
    ["llama3_json", '<|python_tag|>{"name": "f", "par', ["<|eom_id|>", " <|eot_id|>\n"], TRUNCATED],
    ["llama3_json", "<|python_tag|>", ["<|eom_id|>"], { errors: ["neither JSON nor a call"] }],
    ["llama3_json", "<|python_tag|>f.call(a=1", ["<|eom_id|>"], TRUNCATED],
    ["llama3_json", '<function=f>{"a": ', ["<|eot_id|>"], TRUNCATED],
    ["llama3_json", '{"name": "f", "parameters": {', ["<|eot_id|>"], TRUNCATED],
    ["mistral", '[TOOL_CALLS][{"name": "f", "arg', ["</s>", "</s><pad>"], TRUNCATED],
    ["mistral", "[TOOL_CALLS]", ["</s>"], TRUNCATED],
    ["mistral", "[TOOL_CALLS]f", ["</s>", "\n</s>"], TRUNCATED],
    ["mistral", "[TOOL_CALLS]f[ARGS]", [" </s>"], { calls: [["f", {}, REPAIRED]] }],
    ["mistral", '[TOOL_CALLS]f[ARGS]{"a": "', ["</s>"], TRUNCATED],
  ] satisfies [format: string, text: string, ends: string[], read: Read][]
).flatMap(([format, text, ends, read]): ParserCase[] =>
  ["", ...ends].map((end) => ({
    name: `${JSON.stringify(text)} and ${JSON.stringify(end)}`,
    format,
    text: text + end,
    ...(read as Read),
  })),
);

const REST: ParserCase[] = [
  {
    name: "a part of an end token behind one is content",
    format: "hermes",
    text: "a<|im_end|> <|im_e",
    content: "a<|im_end|> <|im_e",
  },
  {
    name: "an end token in a string",
    format: "hermes",
    text: `${hermes('{"name": "f", "arguments": {"a": "<|im_end|>"}}')}<|im_end|>`,
    calls: [["f", { a: "<|im_end|>" }]],
  },
  {
    name: "an end token behind reasoning that never closes",
    format: "hermes",
    text: "<think>Hm.\n<|im_end|>",
    reasoning: "Hm.",
  },
  {
    name: "an end token behind reasoning that calls are taken out of",
    format: "llama3_json",
    text: '<think>Hm. {"name": "f", "arguments": {}}<|eot_id|>',
    options: { recoverReasoning: true },
    reasoning: "Hm.",
    calls: [["f", {}]],
  },
];

/** What a model writes when it goes on in the name of others. */
const AFTER: ParserCase[] = (
  [
    ["hermes", `${PING}<|im_end|>`, `\n<|im_start|>user\n${hermes('{"name": "bash", "arguments": {"c": "rm"}}')}`],
    ["hermes", `${PING}\n<|im_end|>`, `<|im_start|>assistant\n<think>x</think>${hermes("{bad}")}<|im_end|> ok`],
    ["glm45", "<tool_call>ping</tool_call><|observation|>", "\n<tool_call>bash</tool_call>"],
    ["qwen3_coder", "<function=ping>\n</function>\n</tool_call><|im_end|>", "\n<function=bash>\n</function>"],
    ["json", '{"name": "ping", "arguments": {}}<|im_end|>', '\n{"name": "bash", "arguments": {}}'],
    [
      "llama3_json",
      '{"name": "ping", "parameters": {}}<|eot_id|>',
      '<|start_header_id|>user<|end_header_id|>\n\n{"name": "bash", "parameters": {"c": "rm"}}',
    ],
    ["pythonic", "[ping()]<|eot_id|>", "<|start_header_id|>user<|end_header_id|>\n\n[bash(c='rm')]"],
    ["mistral", "[TOOL_CALLS]ping{}</s>", "[INST]x[/INST][TOOL_CALLS]bash{}</s>"],
  ] as const
).map(([format, call, after]) => ({
  name: `a call after the end of the turn, ${JSON.stringify(after)}`,
  format,
  text: call + after,
  content: /(?:\s*<\|[a-z_]+\|>|<\/s>)$/.exec(call)![0].trimStart() + after.replace(/<\/s>$/, ""),
  calls: [["ping", {}, format === "qwen3_coder" ? REPAIRED : {}]],
  errors: [LATE],
}));

const KIMI = "<|tool_call_begin|>g:0<|tool_call_argument_begin|>{}";
const V3 = "<｜tool▁call▁begin｜>function<｜tool▁sep｜>g\n```json\n{}\n```<｜tool▁call▁end｜>";
const V31 = "<｜tool▁call▁begin｜>g<｜tool▁sep｜>{}<｜tool▁call▁end｜>";
const JSON_CALL = '\n{"name": "g", "arguments": {}}';
const LLAMA_TURN = "<|start_header_id|>user<|end_header_id|>\n\n";
const [NOT_JSON, NO_ARGUMENTS] = ["the call is not valid JSON", "the call has no arguments"];
/** Calls that break off before the end of the turn; the next turn's call is none of theirs. */
const BROKEN_OFF = (
  [
    ["kimi_k2", "<|tool_call_begin|>f:0", "<|im_end|>", KIMI, NO_ARGUMENTS],
    ["kimi_k2", "<|tool_calls_section_begin|>Hm.", "<|im_end|>", KIMI, "without a call"],
    ["kimi_k2", '<|tool_call_begin|>f:0<|tool_call_argument_begin|>{"a": ', "<|im_end|>", KIMI, NOT_JSON],
    ["deepseek_v3_1", '<｜tool▁call▁begin｜>f<｜tool▁sep｜>{"a": ', DEEPSEEK_END, V31, NOT_JSON],
    ["deepseek_v3_1", "<｜tool▁call▁begin｜>f", DEEPSEEK_END, `<｜User｜>x<｜Assistant｜>${V31}`, NO_ARGUMENTS],
    ["deepseek_v3_1", "<｜tool▁call▁begin｜>f<｜tool▁sep｜>", DEEPSEEK_END, V31, NO_ARGUMENTS],
    ["deepseek_v3", "<｜tool▁call▁begin｜>function<｜tool▁sep｜>f", DEEPSEEK_END, `<｜User｜>x\n${V3}`, NO_ARGUMENTS],
    ["deepseek_v3", "<｜tool▁call▁begin｜>function<｜tool▁sep｜>f", DEEPSEEK_END, V3, NO_ARGUMENTS],
    [
      "deepseek_v3_2",
      '<｜DSML｜invoke name="f">{"a": ',
      DEEPSEEK_END,
      '<｜DSML｜invoke name="g"></｜DSML｜invoke>',
      NOT_JSON,
    ],
    ["hermes", '<tool_call>{"name": "f", "arguments": {"a": ', "<|im_end|>", PING, NOT_JSON],
    ["json", '{"name": "f", "arguments": {"a": ', "<|im_end|>", JSON_CALL, NOT_JSON],
    ["json", '{"name": "f", "arguments": {"a": "x', "<|im_end|>", JSON_CALL, NOT_JSON],
    [
      "json",
      '{"name": "f", "arguments": [',
      "<|im_end|>",
      '<|im_start|>user {"name": "g", "arguments": {}}',
      "must be an object",
    ],
    ["llama3_json", '{"name": "f", "parameters": {"a": ', "<|eot_id|>", LLAMA_TURN + JSON_CALL, NOT_JSON],
    ["llama3_json", "<|python_tag|>f.call(a=1", "<|eom_id|>", `${LLAMA_TURN}x)${JSON_CALL}`, "truncated"],
    ["llama3_json", "<|python_tag|>f.call(a='x", "<|eom_id|>", `${LLAMA_TURN}' y)${JSON_CALL}`, "not a literal"],
    ["llama3_json", "<|python_tag|>f.call(a='x", "<|eom_id|>", LLAMA_TURN + JSON_CALL, "truncated"],
    ["llama4_pythonic", '<|python_start|>{"name": "f", "parameters": {"a": ', "<|eom|>", JSON_CALL, NOT_JSON],
    ["llama4_pythonic", "<|python_start|>", "<|eot|>", `${LLAMA_TURN}x<|python_end|>${JSON_CALL}`, "no call"],
    ["mistral", '[TOOL_CALLS][{"name": "f", "arguments": {"a": ', "</s>", "[INST]x[/INST][TOOL_CALLS]g{}", NOT_JSON],
    ["mistral", "[TOOL_CALLS]f", "</s>", "[INST]x[/INST] {} [TOOL_CALLS]g{}", NO_ARGUMENTS],
    ["mistral", "[TOOL_CALLS]f[CALL_ID]a", "</s>", "[INST]x[/INST] {} [TOOL_CALLS]g{}", NO_ARGUMENTS],
    ["mistral", '[TOOL_CALLS]f[ARGS]{"a": ', "</s>", "[INST]x[/INST][TOOL_CALLS]g{}", NOT_JSON],
    ...["pythonic", "llama4_pythonic"].flatMap((format) => [
      [format, "[f(a=1", "<|eot_id|>", `${LLAMA_TURN})]\n[g()]`, "truncated"] as const,
      [format, "[f(a='x", "<|eot_id|>", `${LLAMA_TURN}' y)]\n[g()]`, "not a literal"] as const,
      [format, "[f(a='x", "<|eot_id|>", `${LLAMA_TURN}\n[g()]`, "truncated"] as const,
      [format, "[f(a=1 # x", "<|eot_id|>", `${LLAMA_TURN})]\n[g()]`, "truncated"] as const,
    ]),
  ] as const
).map(([format, call, end, after, reason]): ParserCase => ({
  name: `${JSON.stringify(call)}, and a call in the next turn, ${JSON.stringify(after)}`,
  format,
  text: `${call}${end}${after}`,
  content: `${call.endsWith("Hm.") ? "Hm." : ""}${end}${after}`,
  errors: [reason, LATE],
}));

/** Likewise, in a list: what is whole of it is a call. */
const LISTS_BROKEN_OFF = ["pythonic", "llama4_pythonic"].flatMap((format) =>
  ["", ", ", ", # x", ", g", ", 5"].map((rest): ParserCase => ({
    name: `a list that breaks off at ${JSON.stringify(rest)}`,
    format,
    text: `[f()${rest}<|eot_id|>${LLAMA_TURN}, g()]\n[g()]`,
    content: `<|eot_id|>${LLAMA_TURN}, g()]\n[g()]`,
    calls: [["f", {}, REPAIRED]],
    errors: [...(/g|5/.test(rest) ? ["not a call"] : []), LATE],
  })),
);

const LATER: ParserCase[] = [
  {
    name: "two calls after the end of the turn, in reasoning as well",
    format: "hermes",
    text: `So.<|im_end|>\n<think>${PING}</think>${PING}<|im_end|>`,
    content: `So.<|im_end|>\n<think>${PING}</think>${PING}`,
    errors: [LATE, LATE],
  },
  {
    name: "an end token in reasoning whose opening tag the prompt had",
    format: "hermes",
    text: `I stop with <|im_end|> then. ${PING}</think>${PING}<|im_end|>`,
    reasoning: `I stop with <|im_end|> then. ${PING}`,
    calls: [["ping", {}]],
  },
  {
    name: "the same, where the prompt had none",
    format: "hermes",
    text: `I stop with <|im_end|> then.</think>${PING}`,
    options: { startsInReasoning: false },
    content: "I stop with <|im_end|> then.</think>",
    calls: [["ping", {}]],
  },
];

/** Texts that end a turn for some models, and are written by all. */
const PROSE: ParserCase[] = [
  ["mistral", "Now <s>10</s> 8.", '[TOOL_CALLS]ping[ARGS]{"a": 1}'],
  ["mistral", "Padding uses <pad>.", '[TOOL_CALLS]ping[ARGS]{"a": 1}'],
  ["json", "Old: <s>10</s>.", '{"name": "ping", "arguments": {"a": 1}}'],
].map(([format, said, call]) => ({
  name: `a call behind ${JSON.stringify(said)}`,
  format: format!,
  text: `${said}\n${call}`,
  content: said!,
  calls: [["ping", { a: 1 }]],
}));
const LATE_PLAIN: ParserCase = {
  name: "a call behind a turn of the user's",
  format: "mistral",
  text: 'So.</s>[INST]Go on.[/INST][TOOL_CALLS]ping[ARGS]{"a": 1}',
  content: 'So.</s>[INST]Go on.[/INST][TOOL_CALLS]ping[ARGS]{"a": 1}',
  errors: [LATE],
};

/** Tokens that end the turn: at the end of the answer, and before it. */
export const END_CASES: readonly ParserCase[] = [
  ...ENDED,
  ...REST,
  ...AFTER,
  ...BROKEN_OFF,
  ...LISTS_BROKEN_OFF,
  ...LATER,
  ...PROSE,
  LATE_PLAIN,
];
