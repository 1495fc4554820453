import type { ParserCase } from "./public-reports.ts";

type Write = (name: string, text: string) => string;

const json = (text: string): string => `{"s": ${JSON.stringify(text)}}`;
const dsml =
  (mark: string): Write =>
  (name, text) =>
    `<${mark}function_calls>\n<${mark}invoke name="${name}">\n<${mark}parameter name="s" string="true">${text}</${mark}parameter>\n</${mark}invoke>\n</${mark}function_calls>`;
const deepseek = (call: string): string =>
  `<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>${call}<｜tool▁call▁end｜><｜tool▁calls▁end｜>`;

/** A call with a text, as each format writes it. */
export const WRITERS: readonly (readonly [format: string, write: Write])[] = [
  [
    "qwen3_coder",
    (name, text) => `<tool_call>\n<function=${name}>\n<parameter=s>\n${text}\n</parameter>\n</function>\n</tool_call>`,
  ],
  ["glm45", (name, text) => `<tool_call>${name}\n<arg_key>s</arg_key>\n<arg_value>${text}</arg_value>\n</tool_call>`],
  ["deepseek_v3_2", dsml("｜DSML｜")],
  ["hermes", (name, text) => `<tool_call>\n{"name": "${name}", "arguments": ${json(text)}}\n</tool_call>`],
  ["json", (name, text) => `{"name": "${name}", "arguments": ${json(text)}}`],
  [
    "kimi_k2",
    (name, text) =>
      `<|tool_calls_section_begin|><|tool_call_begin|>${name}<|tool_call_argument_begin|>${json(text)}<|tool_call_end|><|tool_calls_section_end|>`,
  ],
  ["deepseek_v3", (name, text) => deepseek(`function<｜tool▁sep｜>${name}\n\`\`\`json\n${json(text)}\n\`\`\``)],
  ["deepseek_v3_1", (name, text) => deepseek(`${name}<｜tool▁sep｜>${json(text)}`)],
  ["mistral", (name, text) => `[TOOL_CALLS]${name}[ARGS]${json(text)}`],
  ["llama3_json", (name, text) => `<|python_tag|>{"name": "${name}", "parameters": ${json(text)}}`],
  ["llama4_pythonic", (name, text) => `<|python_start|>[${name}(s=${JSON.stringify(text)})]<|python_end|>`],
  ["pythonic", (name, text) => `[${name}(s=${JSON.stringify(text)})]`],
  [
    "gpt_oss",
    (name, text) => `<|channel|>commentary to=functions.${name} <|constrain|>json<|message|>${json(text)}<|call|>`,
  ],
];

/** A text about a format, with calls of it. */
export const quoting = (write: Write, count: number): string =>
  `# Calls\n${`${write("rm", 'all "of" it')}\n\nor:\n`.repeat(count)}end.`;

const quoted = WRITERS.flatMap(([format, write]) =>
  [1, 4, 8].map((count): ParserCase => {
    const text = quoting(write, count);
    const rest = format === "kimi_k2" ? { id: "f" } : {};
    const name = `a text that quotes ${count} calls`;
    return { name, format, text: write("f", text), calls: [["f", { s: text }, rest]] };
  }),
);

/** Arguments as Python writes them: they are repaired, however many marks stand in a string of theirs. */
const python = WRITERS.filter(([, write]) => write("f", "x").includes('{"s": "x"}')).flatMap(([format, write]) =>
  [2, 8].map((count): ParserCase => {
    const text = quoting(write, count).replaceAll("'", "");
    const literal = `{'s': '${text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n")}'}`;
    const rest = format === "kimi_k2" ? { id: "f", repaired: true } : { repaired: true };
    return {
      name: `Python that quotes ${count} calls`,
      format,
      text: write("f", "x").replace('{"s": "x"}', () => literal),
      calls: [["f", { s: text }, rest]],
    };
  }),
);

/** Marks of calls in prose, and what stands behind the text in place of its own closing tag. */
const RAW: readonly [format: string, prose: string, own: string][] = [
  ["qwen3_coder", 'With `<tool_call>`, "<function=x>" and `<parameter=x>`:\n', "\n</parameter>"],
  ["glm45", "With `<tool_call>` and `<arg_value>`; ends with </tool_call>. So:\n", "</arg_value>"],
  ["deepseek_v3_2", 'With `<｜DSML｜invoke name="x">` and `<｜DSML｜parameter name="x">`:\n', "</｜DSML｜parameter>"],
];

const raw = RAW.flatMap(([format, prose, own]): ParserCase[] => {
  const write = WRITERS.find(([key]) => key === format)![1];
  const text = prose + quoting(write, 4);
  const whole = write("f", text);
  const end = whole.slice(whole.lastIndexOf(own) + own.length);
  const open = whole.slice(0, whole.lastIndexOf(own));
  const fence = write("f", `x\n\`\`\`\n${write("rm", "1")}\n\`\`\`\n`);
  const next = write("g", "1");
  const after = write("f", "a").replace(own, "").replace(end, "");
  return [
    { name: "a text that tells of tags and quotes calls", format, text: whole, calls: [["f", { s: text }]] },
    {
      name: "the same, its closing tag left out, then a call",
      format,
      text: `${open.replace("; ends with </tool_call>. So", "")}\n${end}\n${next}`,
      calls: [["g", format === "deepseek_v3_2" ? { s: "1" } : { s: 1 }]],
      errors: ["no end"],
    },
    {
      name: "a code block with a call, cut off",
      format,
      text: fence.slice(0, fence.lastIndexOf(own)),
      errors: ["truncated"],
    },
    {
      name: "calls behind a text without an end",
      format,
      text: `${after}\n${next}\n${next}`,
      calls: Array.from({ length: 2 }, () => ["g", format === "deepseek_v3_2" ? { s: "1" } : { s: 1 }]),
      errors: ["no end"],
    },
  ];
});

/** Calls that stand in a text of a call: they are never run. */
export const QUOTED_CALL_CASES: readonly ParserCase[] = [...quoted, ...python, ...raw];
