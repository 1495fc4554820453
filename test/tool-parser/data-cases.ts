import { tool, type ParserCase } from "./public-reports.ts";

const ALICE = '{"name": "Alice", "parameters": {"age": 3}}';
const CALL = '{"name": "g", "arguments": {}}';
const g = ["g", {}] as const;

const whole = (name: string, text: string): Omit<ParserCase, "format"> => ({ name, text, content: text });

/** What bare JSON may hold besides calls. */
const JSON_DATA = ["json", "llama3_json", "llama4_pythonic"].flatMap((format) =>
  [
    whole("an object with a name in an object", `{"user": ${ALICE}}`),
    whole("objects in a list in an object", `So: {"items": [${CALL}, ${ALICE}], "n": 1}.`),
    whole("an object in an object in a list", `[{"user": ${ALICE}}]`),
    whole("an object in an object in a code block", `\`\`\`json\n{"user": ${ALICE}}\n\`\`\``),
    whole("an object behind other keys", `{"a": 1, "b": null, "call": ${CALL}} [{"x": ${CALL}}]`),
    { name: "a call after data", text: `{"user": ${ALICE}} ${CALL}`, content: `{"user": ${ALICE}}`, calls: [g] },
    { name: "a call in what is no JSON", text: `{user: ${CALL}}`, content: "{user: }", calls: [g] },
    {
      name: "a message of OpenAI's API",
      text: JSON.stringify({
        role: "assistant",
        content: "I look it up.",
        tool_calls: [
          { id: "a1", type: "function", function: { name: "f", arguments: '{"a": 1}' } },
          { id: "a2", type: "function", function: { name: "g", arguments: "{}" } },
        ],
      }),
      content: "I look it up.",
      calls: [
        ["f", { a: 1 }, { id: "a1" }],
        ["g", {}, { id: "a2" }],
      ],
    },
    { name: "calls of a message", text: `Hm. {"tool_calls": [${CALL}, ${CALL}]}.`, content: "Hm. .", calls: [g, g] },
    { name: "a call of an older message", text: `{"function_call": ${CALL}}`, calls: [g] },
    { name: "a message in a list", text: `[{"tool_calls": [${CALL}]}]`, calls: [g] },
    { name: "a message in a code block", text: `\`\`\`json\n{"tool_call": ${CALL}}\n\`\`\``, calls: [g] },
    {
      name: "one broken call of a message",
      text: `{"tool_calls": [{"name": "f", "arguments": 1}, ${CALL}]}`,
      calls: [g],
      errors: ["must be an object"],
    },
    { name: "a cut message", text: '{"tool_calls": [{"name": "f", "argu', errors: ["truncated"] },
    whole("a message without calls", '{"role": "assistant", "tool_calls": []} {"tool_calls": [1]}'),
    ...[
      JSON.stringify(tool("g", { a: { type: "string" } })),
      JSON.stringify([{ name: "g", description: "It does.", parameters: { type: "object", properties: {} } }]),
    ].map((text) => ({ ...whole(`a definition: ${text}`, text), options: { tools: [tool("g", {})] } })),
    {
      name: "arguments that look like a schema",
      text: '{"name": "g", "arguments": {"type": "object", "properties": {}}}',
      calls: [["g", { type: "object", properties: {} }]],
    },
  ].map((given) => ({ ...given, format }) as ParserCase),
);

/** What lists of Python calls may be besides calls. */
const PYTHON_DATA = ["pythonic", "llama4_pythonic"].flatMap((format) =>
  [
    whole("objects made in code", "xs = [Point(x=1), Point(x=2)] and [Foo() for a in b]"),
    { name: "a list of two, of which one is known", text: "So: [h(), g()]", content: "So:", calls: [["h", {}], g] },
    { name: "a broken call that is known", text: "So: [g(a=oops)]", content: "So:", errors: ["not a literal"] },
    { name: "a call of no tool at the start", text: "[h(a=1)]", calls: [["h", { a: 1 }]] },
    { name: "a call of no tool after another call", text: "[g()]\n[h()]", calls: [g, ["h", {}]] },
    { name: "a cut list", text: "So: [h(a=1", content: "So:", errors: ["truncated"] },
    { name: "a tag after text", text: "So: <|python_tag|>[h()]", content: "So:", calls: [["h", {}]] },
    { name: "unknown tools", text: "So: [h()]", options: {}, content: "So: [h()]" },
    { name: "unknown tools, on a line", text: "So:\n[h()]", options: {}, content: "So:", calls: [["h", {}]] },
  ].map((given) => ({ options: { tools: [tool("g", {})] }, ...given, format }) as ParserCase),
);

const NUMBERS = ["NaN", "Infinity", "-Infinity", "nan", "1e400", "-1e999"].flatMap((number): ParserCase[] => {
  const errors = [`the call is not valid JSON: ${number} is no finite number`];
  const call = `{"name": "f", "arguments": {"x": [1, ${number}]}}`;
  return [
    { name: number, format: "hermes", text: `<tool_call>${call}</tool_call>`, errors },
    { name: number, format: "json", text: call, errors },
    { name: number, format: "mistral", text: `[TOOL_CALLS]f[ARGS]{"x": ${number}}`, errors },
  ];
});

const HERMES = [
  {
    name: "a call without its opening tag",
    text: `So:\n${CALL}\n</tool_call>`,
    content: "So:",
    calls: [["g", {}, { repaired: true }]],
  },
  {
    name: "two calls without their opening tags, then one with it",
    text: `${CALL}</tool_call>\n${CALL}\n\n</tool_call>\n<tool_call>\n${CALL}\n</tool_call>`,
    calls: [["g", {}, { repaired: true }], ["g", {}, { repaired: true }], g],
  },
  whole("calls without any tag", `${CALL} and {"name": "x"} <tool`),
  whole("a brace in prose", 'Use {"name or {x}: {"name": {"name": 1}}'),
  {
    name: "what is no call before a closing tag",
    text: 'Hm {"name": 1}</tool_call>',
    content: "Hm",
    errors: ["has no name"],
  },
].map((given) => ({ ...given, format: "hermes" }) as ParserCase);

/** What looks like calls and is data, messages that hold calls, calls without their opening tag, and numbers that JSON has not. */
export const DATA_CASES: readonly ParserCase[] = [...JSON_DATA, ...PYTHON_DATA, ...HERMES, ...NUMBERS];
