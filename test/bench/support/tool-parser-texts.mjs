/** An answer of each format, as models write them: prose, then calls with a longer text in an argument. */
const PROSE = "Let me look at the file first, then I will change what has to be changed and run the tests.\n";
const BODY = "    if (count < limit && name !== 'x') {\\n        return { ok: true };\\n    }\\n".repeat(12);
const RAW = BODY.replaceAll("\\n", "\n");
const ARGS = `{"path": "src/main.ts", "line": 120, "text": "${BODY}"}`;
export const ANSWERS = {
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
  '{"a":{"a":1}}',
  '{"a":{',
  '{"a":[{"name":"f","arguments":1}]}',
  '{"tool_calls":[{"name":"f"}]}',
  '{"tool_calls":[{"name":"f"},',
  "x[g()]",
  "x[g(a=[",
  "<function=f><think><parameter=a>",
  "<arg_key><tool_call>x</arg_key>[",
  "</think><think>",
  "{",
  '"',
  "```",
  '<|channel|>commentary to=functions.f<|message|>{"',
  "<|start|>",
  "<｜",
  "function<｜tool▁sep｜>",
  '<function=f>{"a":',
  "</param",
  "<|im_end|>",
  "a <|im_end|> b ",
  "`<|eot_id|>`",
  "a <think> b ",
  "a </think> b <think> c",
  "a [TOOL_CALLS] b ",
  "a <|tool_call_begin|> b ",
  "a <｜tool▁calls▁begin｜> b ",
  "\n[f(a=1)] ",
  '[f(a="<|eot_id|>',
  '[f(a=\\"<|eot_id|>',
  "[f(a=1 # <|eot_id|>",
  "[f(), # <",
  '<|python_tag|>f(a="<|eom_id|>\n',
  '{"name":"f","arguments":{"a":<|eot_id|>',
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
export const TOOLS = [
  { type: "function", function: { name: "f", parameters: { type: "object", properties: { a: {} } } } },
];

/** The hostile texts of a format. */
export function hostileTexts(format, length) {
  return UNITS.flatMap((unit) => {
    const repeated = unit.repeat(Math.ceil(length / unit.length)).slice(0, length);
    return [
      { shape: `${unit}…`, text: repeated },
      { shape: `a call, then ${unit}…`, text: `${STARTS[format] ?? ""}${repeated}` },
    ];
  });
}

const json = (value) => `{"a": ${JSON.stringify(value)}}`;
const raw = (value) => (typeof value === "string" ? value : JSON.stringify(value));
const CALLS = {
  deepseek_v3: (a) => `<｜tool▁call▁begin｜>function<｜tool▁sep｜>f\n\`\`\`json\n${json(a)}\n\`\`\`<｜tool▁call▁end｜>`,
  deepseek_v3_1: (a) => `<｜tool▁call▁begin｜>f<｜tool▁sep｜>${json(a)}<｜tool▁call▁end｜>`,
  deepseek_v3_2: (a) =>
    `<｜DSML｜invoke name="f">\n<｜DSML｜parameter name="a" string="${typeof a === "string"}">${raw(a)}</｜DSML｜parameter>\n</｜DSML｜invoke>`,
  glm45: (a) => `<tool_call>f\n<arg_key>a</arg_key>\n<arg_value>${raw(a)}</arg_value>\n</tool_call>`,
  gpt_oss: (a) => `<|channel|>commentary to=functions.f <|constrain|>json<|message|>${json(a)}<|call|>`,
  hermes: (a) => `<tool_call>\n{"name": "f", "arguments": ${json(a)}}\n</tool_call>`,
  json: (a) => `{"name": "f", "arguments": ${json(a)}}`,
  kimi_k2: (a) => `<|tool_call_begin|>f:0<|tool_call_argument_begin|>${json(a)}<|tool_call_end|>`,
  llama3_json: (a) => `<|python_tag|>{"name": "f", "parameters": ${json(a)}}`,
  llama4_pythonic: (a) => `<|python_start|>[f(a=${JSON.stringify(a)})]<|python_end|>`,
  mistral: (a) => `[TOOL_CALLS]f[ARGS]${json(a)}`,
  pythonic: (a) => `[f(a=${JSON.stringify(a)})]`,
  qwen3_coder: (a) => `<tool_call>\n<function=f>\n<parameter=a>\n${raw(a)}\n</parameter>\n</function>\n</tool_call>`,
};

/** One call each: a long string with line breaks, a long list of numbers, a long list of texts. */
export function longCalls(format, length) {
  const call = CALLS[format];
  const many = (item, size) => Array.from({ length: length / size }, () => item);
  return [
    { shape: "a long string", text: call(many("lorem \n", 7).join("")) },
    { shape: "a long list of numbers", text: call(many(-1.5, 5)) },
    { shape: "a long list of texts", text: call(many("it's", 7)) },
  ];
}

/** Pieces of a length. */
export function* piecesOf(text, length) {
  for (let at = 0; at < text.length; at += length) yield text.slice(at, at + length);
}
