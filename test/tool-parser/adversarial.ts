/** Shapes that make careless parsers go over the same text again and again: a unit that is repeated up to a length. */
const UNITS: Readonly<Record<string, readonly string[]>> = {
  hermes: [
    "<tool_call>",
    '<tool_call>{"',
    "<tool_call>{'",
    '<tool_call>{"a',
    '<tool_call>{"a":1,"',
    "<think>",
    "</tool_call>",
    '<tool_call>{"name":"f"}',
    '<tool_call>{"a":x}',
  ],
  qwen3_coder: [
    "<tool_call><function=f><parameter=x>",
    "<tool_call>\n<function=f>\n<parameter=x>\n</tool_call>\n",
    "<function=",
    "<tool_call>",
    "</parameter>",
    "<parameter=x>\n",
    "<function=f><parameter=x></parameter></x>",
    "<tool_call><function=f><parameter=x><|im_end|>",
  ],
  glm45: [
    "<tool_call>f<arg_key>k</arg_key><arg_value>",
    "<tool_call>f<arg_key>",
    "<tool_call>f",
    "</arg_value>",
    "<tool_call>f<arg_key>k</arg_key><arg_value></tool_call>",
    "<tool_call>{'a':1}",
    "<tool_call>f<arg_key>k</arg_key><arg_value></arg_value></x>",
    "<|user|>x",
  ],
  kimi_k2: [
    "<|tool_calls_section_begin|>",
    '<|tool_call_begin|>f:0<|tool_call_argument_begin|>{"',
    "<|tool_call_begin|>",
    "x <|tool_call_begin|> x `",
    "<",
  ],
  deepseek_v3: [
    "<｜tool▁calls▁begin｜>",
    '<｜tool▁call▁begin｜>function<｜tool▁sep｜>f\n```json\n{"',
    "<｜tool▁call▁begin｜>f<｜tool▁sep｜>",
    '<｜tool▁call▁begin｜>function<｜tool▁sep｜>"f"',
  ],
  deepseek_v3_2: [
    '<｜DSML｜invoke name="f"><｜DSML｜parameter name="x" string="true">',
    '<｜DSML｜function_calls><｜DSML｜invoke name="f"><｜DSML｜parameter name="x"></｜DSML｜invoke>',
    "<｜DSML｜invoke",
    "<｜DSML｜function_calls>",
    "</｜DSML｜parameter>",
    '<｜DSML｜parameter name="x">',
    '<｜DSML｜invoke name="f">{"a":"',
    '<|DSML|invoke name="f"><|DSML|parameter name="x">',
    '<invoke name="f">',
  ],
  mistral: [
    "[TOOL_CALLS]",
    "[TOOL_CALLS]f{}, g{}",
    "[TOOL_CALLS][{}][{}]",
    '[TOOL_CALLS][{"',
    "[TOOL_CALLS]f[ARGS]{",
    '[TOOL_CALLS]f[ARGS]{"a":"',
    "x [TOOL_CALLS] f (",
  ],
  llama3_json: [
    "<|python_tag|>",
    '{"name":',
    '\n{"name":"',
    '<|python_tag|>{"',
    '{"name":{"name":1}}',
    "{'name':'f'}",
    "x <|python_tag|> [ ",
    "x <|python_tag|> f (",
  ],
  json: [
    "```",
    "[{",
    '{"name":',
    '{"name":"f","arguments":',
    '[{"name":"',
    "{ ",
    '{"a":1,"b":',
    '{"a":[',
    '{"a":1}',
    "{'name':",
    "{'name':'f'}",
    '{"name":f}',
    '\n{"parameters":',
    '"b":1[{',
    '; {{"name":"f"',
  ],
  pythonic: [
    "[",
    "[f(a=",
    "[f(a='",
    '[f(a="""',
    "[f(",
    "[f(a=1),",
    "[f()]",
    "x <|python_start|> [# ",
    "# x <|python_start|> [#\n",
  ],
  llama4_pythonic: [
    "<|python_start|>",
    "<|python_start|>x<|python_end|>",
    '<|python_end|>{"',
    '<|python_start|>{"name":',
    "x <|python_start|> [# ",
    "x <|python_end|> {",
    '{"name":"f","parameters":{}}',
  ],
  gpt_oss: [
    "<|start|>",
    "<|channel|>commentary to=functions.f<|message|>",
    '<|channel|>commentary to=functions.f<|message|>{"',
    "<|end|>",
    "<|channel|>analysis<|message|>",
  ],
};
/** What follows the first unit in one breath. */
const TAILS = ["[", "{", '"', "\\", " ", "9", "<", '{"a":', "'", "x"];

export function adversarialTexts(format: string, length: number): { shape: string; text: string }[] {
  const units = UNITS[format] ?? [];
  const repeat = (unit: string): string => unit.repeat(Math.ceil(length / unit.length)).slice(0, length);
  const tailed = units
    .slice(0, 3)
    .flatMap((unit) => TAILS.map((tail) => ({ shape: `${unit} then ${tail}…`, text: unit + repeat(tail) })));
  return [...units.map((unit) => ({ shape: `${unit}…`, text: repeat(unit) })), ...tailed];
}

export const ADVERSARIAL_FORMATS = Object.keys(UNITS);
