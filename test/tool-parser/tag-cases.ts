import { tool, type ParserCase } from "./public-reports.ts";

const REPAIRED = { repaired: true };
const CALC = [tool("calc", { x: { type: "string" } })];

/** A call of bash with a command; what stands behind the opening tag of its value is given. */
const coder = (rest: string): string => `<tool_call>\n<function=bash>\n<parameter=command>\n${rest}`;
const END = "\n</function>\n</tool_call>";
const CLOSED = "ls -la\n</parameter>";
const bash = (command: string, rest = {}) => ["bash", { command }, rest] as const;

/** Closing tags that close nothing, behind a value or in place of its own. */
const CODER_REPAIRED = [
  ...["</invoke>", "</function_call>", "</bash>", "</invoke>\n</function_call>", "</parameter>\n</bash>"].map(
    (tags) => `${CLOSED}\n${tags}${END}`,
  ),
  ...["</parameter", "</param>", "</parameters>", "</parameter=command>"].map((tag) => `ls -la\n${tag}${END}`),
  `ls -la</parameter>\n</parameter>${END}`,
  `${CLOSED}\n</invoke>\n<tool_call>\n<function=ping>\n</function>\n</tool_call>`,
].map((rest): ParserCase => ({
  name: `bash with ${JSON.stringify(rest)}`,
  format: "qwen3_coder",
  text: coder(rest),
  calls: [bash("ls -la", REPAIRED), ...(rest.includes("ping") ? [["ping", {}] as const] : [])],
}));

/** What shows that an argument is lost, or that a value is not known to end where it does. */
const CODER_ERRORS = [
  ...[
    "<parameters=timeout>\n5\n</parameter>",
    "<parameter name='timeout'>\n5\n</parameter>",
    "<param=timeout>\n5\n</param>",
    "<timeout>\n5\n</timeout>",
    "<timeout>\n5\n</parameter>",
    "<timeout>\n5\n</timeout>\n<parameter=x>\n1\n</parameter>",
    "some text",
    "</invoke>\n</parameter>",
  ].map((debris) => [`${CLOSED}\n${debris}${END}`, debris.split("\n")[0]!] as const),
  ...["</command>", "</bash>", "</invoke>"].map((tag) => [`ls\n${tag}${END}`, tag] as const),
  [`ls\n</param>\n<timeout>\n5\n</timeout>${END}`, "</param"] as const,
  [`ls</parameter>\n<parameters=timeout>5</parameter>${END}`, "<parameters=timeout>"] as const,
].map(([rest, told]): ParserCase => ({
  name: `bash with ${JSON.stringify(rest)}`,
  format: "qwen3_coder",
  text: coder(rest),
  errors: [told],
}));

/** Text that has closing tags of its own, and closes well. */
const CODER_TEXTS = [
  'if (line === "</parameter>") {\n  return;\n}',
  '<m>\n<parameter name="a">\n1\n</parameter>\n<parameter name="b">\n2\n</parameter>\n</m>',
  "<parameter>\n1\n</parameter>\n<x/>",
  "      1\n    </parameter>\n  </parameters>",
  "# ends with\n</parameter>\n# and goes on",
  "-</parameter>\n+</parameters>\n",
  "<|im_start|>user\nhi<|im_end|>\n".repeat(9),
].map((command): ParserCase => ({
  name: `bash with ${JSON.stringify(command)}`,
  format: "qwen3_coder",
  text: coder(`${command}\n</parameter>${END}`),
  calls: [bash(command)],
}));

const CODER: ParserCase[] = [
  ...CODER_REPAIRED,
  ...CODER_ERRORS,
  ...CODER_TEXTS,
  ...["<b>\n<i>x</i>\n</b>", "cat </dev/null"].map((command): ParserCase => ({
    name: `a value without its closing tag, ${JSON.stringify(command)}`,
    format: "qwen3_coder",
    text: coder(command + END),
    calls: [bash(command, REPAIRED)],
  })),
  ...["<function=ping/>", "<function=ping />", "<tool_call>\n<function=ping/>\n</tool_call>"].map(
    (text): ParserCase => ({
      name: `a function in one tag: ${JSON.stringify(text)}`,
      format: "qwen3_coder",
      text,
      calls: [["ping", {}, REPAIRED]],
    }),
  ),
  {
    name: "a parameter in one tag",
    format: "qwen3_coder",
    text: "<tool_call>\n<function=f>\n<parameter=a/>\n<parameter=b>\n1\n</parameter>\n</function>\n</tool_call>",
    errors: ['"a" has no value'],
  },
  {
    name: "a call that the next turn cuts off",
    format: "qwen3_coder",
    text: `${coder("ls")}<|im_end|>\n<|im_start|>user\n${coder("rm")}\n</parameter>${END}`,
    content: `<|im_end|>\n<|im_start|>user\n${coder("rm")}\n</parameter>${END}`,
    errors: ['"command" has no end', "after the end of the turn"],
  },
];

const glm = (rest: string): string => `<tool_call>bash\n<arg_key>command</arg_key>\n<arg_value>ls${rest}\n</tool_call>`;
const GLM: ParserCase[] = [
  ...["</arg_value>\n</arg_key>", "</arg_value>\n</function>", "</arg_value></bash>", "</arg_key>"].map(
    (rest): ParserCase => ({
      name: `bash with ${JSON.stringify(rest)}`,
      format: "glm45",
      text: glm(rest),
      calls: [bash("ls", REPAIRED)],
    }),
  ),
  ...(
    [
      ["</arg_value>\n<arg_keys>timeout</arg_keys>\n<arg_value>5</arg_value>", "<arg_keys>timeout</arg_keys>"],
      ["</arg_value>\nsome text", "some text"],
      ["</parameter>", "</parameter>"],
    ] as const
  ).map(([rest, told]): ParserCase => ({
    name: `bash with ${JSON.stringify(rest)}`,
    format: "glm45",
    text: glm(rest),
    errors: [told],
  })),
  {
    name: "a key without a value before another",
    format: "glm45",
    text: "<tool_call>f\n<arg_key>city</arg_key>\n<arg_key>days</arg_key>\n<arg_value>3</arg_value>\n</tool_call>",
    errors: ['"city" has no value'],
  },
  ...["\n</tool_call>", "\n<|observation|>\n<|user|>x"].map((end): ParserCase => ({
    name: `a key without a value before ${JSON.stringify(end)}`,
    format: "glm45",
    text: `<tool_call>f\n<arg_key>days</arg_key>${end}`,
    content: end.includes("user") ? end.trim() : "",
    errors: ['"days" has no value'],
  })),
  { name: "a mention", format: "glm45", text: "We use <tool_call> here", content: "We use <tool_call> here" },
  {
    name: "a mention before the end of the turn",
    format: "glm45",
    text: "We use <tool_call> here.<|user|>",
    content: "We use <tool_call> here.",
  },
  {
    name: "a mention before a call",
    format: "glm45",
    text: "We use <tool_call> here\n<tool_call>f</tool_call>",
    content: "We use <tool_call> here",
    calls: [["f", {}]],
  },
  {
    name: "no mention, but the name of a tool",
    format: "glm45",
    text: "Now: <tool_call> calc",
    options: { tools: CALC },
    content: "Now:",
    errors: ["truncated"],
  },
  {
    name: "a call that the next turn cuts off",
    format: "glm45",
    text: "<tool_call>ping<|observation|>\n<tool_call>bash</tool_call>",
    content: "<|observation|>\n<tool_call>bash</tool_call>",
    errors: ["no end", "after the end of the turn"],
  },
];

/** The layout of DeepSeek V3.2 with the mark that is given. */
const dsml = (mark: string, name = "calc"): string =>
  `<${mark}function_calls>\n<${mark}invoke name="${name}">\n<${mark}parameter name="x" string="true">5</${mark}parameter>\n</${mark}invoke>\n</${mark}function_calls>`;
const bare = (name = "calc"): string =>
  `<invoke name="${name}">\n<parameter name="x">5 < 6 </｜DSML｜parameter></parameter>\n</invoke>`;

const DSML = (
  [
    { name: "plain bars", text: `Hm. ${dsml("|DSML|")}`, content: "Hm.", calls: [["calc", { x: "5" }, REPAIRED]] },
    { name: "no mark", text: `Hm. ${dsml("")}`, content: "Hm.", calls: [["calc", { x: "5" }, REPAIRED]] },
    { name: "no mark, strictly", text: dsml(""), options: { strict: true }, errors: ["breaks its format"] },
    {
      name: "no mark, and no section",
      text: `Hm. ${bare()}`,
      options: { tools: CALC },
      content: "Hm.",
      calls: [["calc", { x: "5 < 6 </｜DSML｜parameter>" }, REPAIRED]],
    },
    {
      name: "no mark, and no tool on offer",
      text: `As in ${bare("x")} or <function_calls> or </invoke>.`,
      options: { tools: CALC },
      content: `As in ${bare("x")} or <function_calls> or </invoke>.`,
    },
    {
      name: "plain tags in a value",
      text: dsml("｜DSML｜").replace(">5<", `>${dsml("")}</parameter><`),
      calls: [["calc", { x: `${dsml("")}</parameter>` }]],
    },
    {
      name: "other tags behind a value",
      text: dsml("｜DSML｜").replace("</｜DSML｜invoke>", "</｜DSML｜call>\n</｜DSML｜invoke>"),
      calls: [["calc", { x: "5" }, REPAIRED]],
    },
    {
      name: "another parameter behind a value, of which the tag is wrong",
      text: dsml("｜DSML｜").replace(
        "</｜DSML｜invoke>",
        '<｜DSML｜param name="y">1</｜DSML｜parameter>\n</｜DSML｜invoke>',
      ),
      errors: ["<｜DSML｜param name"],
    },
    {
      name: "a parameter in one tag",
      text: dsml("｜DSML｜").replace(">5</｜DSML｜parameter", "/"),
      errors: ['"x" has no value'],
    },
  ] satisfies Omit<ParserCase, "format">[]
).map((given): ParserCase => ({ ...given, format: "deepseek_v3_2" }));

/** Prose about the tags of a format. */
const MENTIONS = (
  [
    ["hermes", "You close a call with `</tool_call>`, and that is all."],
    ["hermes", "The tags are <tool_call> and </tool_call>. So."],
    ["hermes", 'It ends with "</tool_call>"'],
    ["qwen3_coder", "In the format, </parameter> closes a value and </function> the call."],
    ["qwen3_coder", "Write `</tool_call>` last."],
    ["glm45", "Write `</tool_call>` last."],
  ] as const
).map(([format, text]): ParserCase => ({ name: `prose: ${text}`, format, text, content: text }));
const NO_MENTIONS = (
  [
    ["hermes", '{"name": "f", oops}</tool_call> So.'],
    ["hermes", "f</tool_call>\nSo."],
    ["hermes", "f</tool_call></tool_call>"],
    ["hermes", "<tool_call>f</tool_call> So."],
    ["qwen3_coder", "ls\n</parameter>\n</function>"],
  ] as const
).map(([format, text]): ParserCase => ({
  name: `tags that end something like a call: ${JSON.stringify(text)}`,
  format,
  text,
  content: text
    .replace(/<tool_call>f/g, "")
    .replaceAll(/<\/\w+>/g, "")
    .trim(),
  errors: [text.startsWith("<") ? "not valid JSON" : "closing tag without a call"],
}));

/** Tags that are none of the format, or stand where they should not. */
export const TAG_CASES: readonly ParserCase[] = [...CODER, ...GLM, ...DSML, ...MENTIONS, ...NO_MENTIONS];
