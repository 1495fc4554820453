import { tool, type ParserCase } from "./public-reports.ts";

const REPAIRED = { repaired: true };
const oslo = ["get_weather", { city: "Oslo" }] as const;
const ARGS = '{"city": "Oslo"}';

const LLAMA: ParserCase[] = [
  { name: "a call in tags", text: `<function=get_weather>${ARGS}</function>`, calls: [oslo] },
  {
    name: "two calls in tags, in prose, and the end",
    text: `First.\n<function=get_weather>${ARGS}</function>\n<function=ping>{}</function><|eot_id|>`,
    content: "First.",
    calls: [oslo, ["ping", {}]],
  },
  { name: "a call in tags without its end", text: `<function=get_weather>${ARGS}`, calls: [oslo] },
  {
    name: "a call in tags without the end of the first",
    text: `<function=get_weather${ARGS}</function>`,
    calls: [["get_weather", { city: "Oslo" }, REPAIRED]],
  },
  { name: "prose about the tag", text: "Write <function=name> first.", content: "Write <function=name> first." },
].map((given) => ({ ...given, format: "llama3_json" }) as ParserCase);

const CALL = `<|channel|>commentary to=functions.get_weather<|message|>${ARGS}<|call|>`;
const NO_TOOL = ["names no tool"];
const HARMONY: ParserCase[] = [
  {
    name: "words for oneself",
    text: "<|channel|>commentary to=assistant<|message|>hmm<|end|>",
    content: "hmm",
  },
  {
    name: "a second header without its marks",
    text: `${CALL}commentary to=functions.ping<|message|>{}<|call|>`,
    calls: [oslo, ["ping", {}]],
  },
  {
    name: "headers without their marks",
    text: "analysis<|message|>Hm.<|end|>final<|message|>So.<|return|>",
    reasoning: "Hm.",
    content: "So.",
  },
  { name: "prose that starts as a header", text: "commentary to follow", content: "commentary to follow" },
  {
    name: "two objects of arguments",
    text: `<|channel|>commentary to=functions.get_weather<|message|>${ARGS}{"city": "Rome"}<|call|>`,
    calls: [["get_weather", { city: "Oslo" }, REPAIRED]],
    errors: ["a second object"],
  },
  {
    name: "a call without a recipient",
    text: `<|channel|>commentary<|message|>${ARGS}<|call|>`,
    content: ARGS,
    errors: NO_TOOL,
  },
  { name: "a call in the tool's own name", text: `<|start|>functions.f<|message|>${ARGS}<|call|>`, errors: NO_TOOL },
  { name: "a call without a header", text: `<|message|>${ARGS}<|call|>`, content: ARGS, errors: NO_TOOL },
  ...[
    "<|channel|>final It is 4 degrees.<|return|>",
    "<|start|>assistant\nIt is 4 degrees.<|return|>",
    "<|start|>assistant<|channel|>final <|constrain|>json<|message|>It is 4 degrees.<|return|>",
  ].map((text): Omit<ParserCase, "format"> => ({
    name: `an answer, ${JSON.stringify(text)}`,
    text: `<|channel|>analysis<|message|>hm<|end|>${text}`,
    reasoning: "hm",
    content: "It is 4 degrees.",
  })),
  {
    name: "a mark in prose",
    text: "<|channel|>final<|message|>The <|start|> mark is used, and <|start|>x<|end|> finally.<|return|>",
    content: "The  mark is used, and x finally.",
  },
  { name: "the beginning of a header", text: "So.<|start|>assist", content: "So." },
  {
    name: "a channel that is told again behind the recipient",
    text: `<|channel|>commentary to=functions.get_weather<|channel|>commentary json<|message|>${ARGS}<|call|>`,
    calls: [oslo],
  },
  {
    name: "a header in a header",
    text: "<|channel|>commentary to=functions.f <|channel|>final<|message|>So.",
    content: "So.",
    errors: ["no arguments"],
  },
].map((given) => ({ ...given, format: "gpt_oss" }) as ParserCase);

const SEP = "<｜tool▁sep｜>";
const DEEPSEEK = ["deepseek_v3", "deepseek_v3_1"].flatMap((format): ParserCase[] => [
  {
    name: "a call without its first mark",
    format,
    text: `So: function${SEP}get_weather\n\`\`\`json\n${ARGS}\n\`\`\``,
    content: "So:",
    calls: [["get_weather", { city: "Oslo" }, REPAIRED]],
  },
  {
    name: "two calls without their first marks in a section",
    format,
    text: `<｜tool▁calls▁begin｜>function${SEP}get_weather\n\`\`\`json\n${ARGS}\n\`\`\`<｜tool▁call▁end｜>\nfunction${SEP}ping\n\`\`\`json\n{}\n\`\`\`<｜tool▁call▁end｜><｜tool▁calls▁end｜>`,
    calls: [
      ["get_weather", { city: "Oslo" }, REPAIRED],
      ["ping", {}, REPAIRED],
    ],
  },
  {
    name: "two objects of arguments",
    format,
    text: `<｜tool▁call▁begin｜>get_weather${SEP}${ARGS}{"city": "Rome"}<｜tool▁call▁end｜>`,
    calls: [["get_weather", { city: "Oslo" }, REPAIRED]],
    errors: ["a second object"],
  },
]);

const MISTRAL: ParserCase[] = [
  {
    name: "brackets around the arguments",
    text: `[TOOL_CALLS]get_weather(${ARGS})`,
    calls: [["get_weather", { city: "Oslo" }, REPAIRED]],
  },
  {
    name: "two calls with brackets around the arguments",
    text: `[TOOL_CALLS]get_weather(${ARGS})[TOOL_CALLS]ping({}) So.`,
    content: "So.",
    calls: [
      ["get_weather", { city: "Oslo" }, REPAIRED],
      ["ping", {}, REPAIRED],
    ],
  },
  {
    name: "a list without its mark",
    text: `[{"name": "get_weather", "arguments": ${ARGS}}, {"name": "ping", "arguments": {}}]</s>`,
    calls: [oslo, ["ping", {}]],
  },
  {
    name: "a list behind text",
    text: 'As in [{"name": "ping", "arguments": {}}].',
    content: 'As in [{"name": "ping", "arguments": {}}].',
  },
  {
    name: "a list of data behind calls",
    text: '[TOOL_CALLS] [{"name": "ping", "arguments": {}}]\n\n[{"name": "Ann", "age": 3}, {"name": "Bob"}]',
    content: '[{"name": "Ann", "age": 3}, {"name": "Bob"}]',
    calls: [["ping", {}]],
  },
  {
    name: "code behind a call",
    text: '[TOOL_CALLS]ping{}\n\nmain{"a": 1}',
    options: { tools: [tool("ping", {})] },
    content: 'main{"a": 1}',
    calls: [["ping", {}]],
  },
  { name: "a list of data", text: '[{"name": "Ada", "age": 3}]', content: '[{"name": "Ada", "age": 3}]' },
].map((given) => ({ ...given, format: "mistral" }) as ParserCase);

const PYTHON = ["pythonic", "llama4_pythonic"].flatMap((format): ParserCase[] => [
  {
    name: "a list with other things in it",
    format,
    text: '[ping(), 5, "a, b", get_weather(city="Oslo"), x]',
    options: { tools: [tool("ping", {})] },
    calls: [["ping", {}], oslo],
    errors: ["not a call", "not a call"],
  },
]);

/** Calls of which something was left out or put in: marks, headers, brackets. */
export const LEFT_OUT_CASES: readonly ParserCase[] = [...LLAMA, ...HARMONY, ...DEEPSEEK, ...MISTRAL, ...PYTHON];
