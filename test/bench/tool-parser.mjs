import { createRunContainer, loadPlugins, registries } from "verl";

const LENGTH = 1_000_000;

/** An answer of each format, as models write them: prose, then calls with a longer text in an argument. */
const PROSE = "Let me look at the file first, then I will change what has to be changed and run the tests.\n";
const BODY = "    if (count < limit && name !== 'x') {\\n        return { ok: true };\\n    }\\n".repeat(12);
const RAW = BODY.replaceAll("\\n", "\n");
const ARGS = `{"path": "src/main.ts", "line": 120, "text": "${BODY}"}`;
const ANSWERS = {
  deepseek_v3: `${PROSE}<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>edit\n\`\`\`json\n${ARGS}\n\`\`\`<｜tool▁call▁end｜><｜tool▁calls▁end｜>`,
  deepseek_v3_1: `${PROSE}<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>edit<｜tool▁sep｜>${ARGS}<｜tool▁call▁end｜><｜tool▁calls▁end｜>`,
  deepseek_v3_2: `${PROSE}<｜DSML｜function_calls>\n<｜DSML｜invoke name="edit">\n<｜DSML｜parameter name="path" string="true">src/main.ts</｜DSML｜parameter>\n<｜DSML｜parameter name="line" string="false">120</｜DSML｜parameter>\n<｜DSML｜parameter name="text" string="true">${RAW}</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>`,
  glm45: `${PROSE}<tool_call>edit\n<arg_key>path</arg_key>\n<arg_value>src/main.ts</arg_value>\n<arg_key>text</arg_key>\n<arg_value>${RAW}</arg_value>\n</tool_call>`,
  gpt_oss: `<|start|>assistant<|channel|>analysis<|message|>${PROSE}<|end|><|start|>assistant<|channel|>commentary to=functions.edit <|constrain|>json<|message|>${ARGS}<|call|>`,
  hermes: `${PROSE}<tool_call>\n{"name": "edit", "arguments": ${ARGS}}\n</tool_call>\n`,
  json: `${PROSE}\`\`\`json\n{"name": "edit", "arguments": ${ARGS}}\n\`\`\`\n`,
  kimi_k2: `${PROSE}<|tool_calls_section_begin|><|tool_call_begin|>functions.edit:0<|tool_call_argument_begin|>${ARGS}<|tool_call_end|><|tool_calls_section_end|>`,
  llama3_json: `${PROSE}<|python_tag|>{"name": "edit", "parameters": ${ARGS}}\n`,
  llama4_pythonic: `${PROSE}<|python_start|>[edit(path="src/main.ts", line=120, text="${BODY}")]<|python_end|>`,
  mistral: `${PROSE}[TOOL_CALLS]edit[ARGS]${ARGS}\n`,
  pythonic: `${PROSE}[edit(path="src/main.ts", line=120, text="${BODY}")]\n`,
  qwen3_coder: `${PROSE}<tool_call>\n<function=edit>\n<parameter=path>\nsrc/main.ts\n</parameter>\n<parameter=text>\n${RAW}\n</parameter>\n</function>\n</tool_call>\n`,
};

/** Shapes that make careless parsers slow, with every mark that any format has. */
const UNITS = [
  "<tool_call>",
  '<tool_call>{"',
  "<tool_call>{'",
  '<tool_call>{"a',
  '<tool_call>{"a":x}',
  "<think>",
  "<tool_call>\n<function=f>\n<parameter=x>\n",
  "</parameter>",
  "<tool_call>f<arg_key>k</arg_key><arg_value>",
  '<|tool_call_begin|>f:0<|tool_call_argument_begin|>{"',
  '<｜tool▁call▁begin｜>f<｜tool▁sep｜>{"',
  '<｜tool▁call▁begin｜>function<｜tool▁sep｜>"f"',
  '<｜DSML｜invoke name="f"><｜DSML｜parameter name="x" string="true">',
  '<｜DSML｜invoke name="f">{"a":"',
  "</｜DSML｜parameter>",
  '[TOOL_CALLS]f[ARGS]{"a":"',
  '[TOOL_CALLS][{"',
  '{"name":',
  '{"name":"f"}',
  '{"name":f}',
  `${"{'name':'f'}".repeat(4000)}\n{`,
  '{"',
  '{"a":1,"b":',
  "<parameter=a>",
  "<parameter=a></parameter>",
  "[a ",
  '\n{"name":"',
  "[f(a='",
  "[f(a=1),",
  "[f(a=1)]",
  "[",
  '[[[[{"a":1}',
  "[[[[[f([f(",
  '\n{"parameters":',
  '"b":1[{',
  '; {{"name":"f"',
  '\n[; {"parameters":1',
  '0{"name":\n[',
  '}{"name":```',
  "=[f(",
  "<function=f><think><parameter=a>",
  "<arg_key><tool_call>x</arg_key>[",
  "</think><think>",
  "{",
  '"',
  "```",
  '<|channel|>commentary to=functions.f<|message|>{"',
  "<|start|>",
  "<",
  "\\",
  " ",
  "9",
];
const STARTS = {
  deepseek_v3_2: '<｜DSML｜invoke name="f"><｜DSML｜parameter name="a" string="false">',
  hermes: '<tool_call>{"name":"f","arguments":{"a":',
  qwen3_coder: "<tool_call>\n<function=f>\n<parameter=a>\n",
  glm45: "<tool_call>f<arg_key>a</arg_key><arg_value>",
  mistral: '[TOOL_CALLS]f[ARGS]{"a":',
  kimi_k2: '<|tool_call_begin|>f:0<|tool_call_argument_begin|>{"a":',
  llama3_json: '<|python_tag|>{"name":"f","parameters":{"a":',
  pythonic: "[f(a=",
  json: '{"name":"f","arguments":{"a":',
  gpt_oss: '<|channel|>commentary to=functions.f<|message|>{"a":',
};

/** On offer in hostile texts: where a name is known, more of them counts as a call. */
const TOOLS = [{ type: "function", function: { name: "f", parameters: { type: "object", properties: { a: {} } } } }];

/** Processor time: other work on the machine counts for nothing. */
function millisecondsOf(work) {
  const start = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1000;
}

/** Megabytes a second of ordinary answers, whole and in pieces of four letters; and the slowest of the hostile texts of 1 MB, the median of five. */
export default async function bench(report) {
  await loadPlugins([]);
  const container = createRunContainer();
  for (const key of registries.tool_parser.keys().filter((key) => key in ANSWERS)) {
    const parser = container.create("tool_parser", key);
    const answer = ANSWERS[key];
    const { calls, errors } = parser.parse(answer);
    if (calls.length !== 1 || errors.length > 0)
      throw new Error(`${key} reads ${calls.length} calls, ${errors.length} errors`);
    const rounds = Math.ceil(LENGTH / answer.length);
    const whole = () => {
      for (let i = 0; i < rounds; i++) parser.parse(answer);
    };
    const pieces = answer.match(/.{1,4}/gs);
    const inPieces = () => {
      for (let i = 0; i < rounds; i++) {
        const stream = parser.stream();
        for (const piece of pieces) stream.push(piece);
        stream.end();
      }
    };
    const megabytes = (rounds * answer.length) / 1e6;
    const rate = (work) => megabytes / (Math.min(...[0, 1, 2, 3].map(() => millisecondsOf(work))) / 1000);
    report.row({ name: `${key}: answers of ${answer.length} letters`, value: rate(whole), unit: "MB/s" });
    report.row({ name: `${key}: the same in pieces of 4 letters`, value: rate(inPieces), unit: "MB/s" });

    let worst = { ms: 0 };
    for (const unit of UNITS) {
      const repeated = unit.repeat(Math.ceil(LENGTH / unit.length)).slice(0, LENGTH);
      for (const [shape, text] of [
        [`${unit}…`, repeated],
        [`a call, then ${unit}…`, `${STARTS[key] ?? ""}${repeated}`],
      ]) {
        const ms = Math.min(...[0, 1].map(() => millisecondsOf(() => parser.parse(text, { tools: TOOLS }))));
        if (ms > worst.ms) worst = { ms, shape, text };
      }
    }
    // The compiler has seen the format by now; the first answers of a run cost up to twice that.
    const again = Array.from({ length: 5 }, () => millisecondsOf(() => parser.parse(worst.text, { tools: TOOLS })));
    report.row({
      name: `${key}: slowest hostile 1 MB, ${JSON.stringify(worst.shape.slice(0, 80))}`,
      value: again.sort((a, b) => a - b)[2],
      unit: "ms",
      versus: "at most 200",
    });
  }
}
