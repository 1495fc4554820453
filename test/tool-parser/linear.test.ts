import { describe, expect, it } from "@jest/globals";
import { openAiToolCall } from "../../core/agent/index.ts";
import { ADVERSARIAL_FORMATS, adversarialTexts } from "./adversarial.ts";
import { parserOf, workFor } from "./helpers.ts";
import { tool } from "./public-reports.ts";

const LENGTH = 12_000;

/** Milliseconds of the processor, the better of two. */
function timeFor(format: string, text: string): number {
  const times = [0, 1].map(() => {
    const start = process.cpuUsage();
    parserOf(format).parse(text, { tools: [tool("f", {})] });
    const { user, system } = process.cpuUsage(start);
    return (user + system) / 1000;
  });
  return Math.min(...times);
}

describe("calls by the hundred thousand", () => {
  it.each([
    ["json", '{"name":"f"}'],
    ["llama3_json", '; {"name":"f","parameters":{'],
    ["llama4_pythonic", '{"name":"f","parameters":{}}'],
    ["mistral", "[TOOL_CALLS]f{}"],
    ["hermes", '<tool_call>{"name":"f"}'],
    ["pythonic", "[f()]"],
    ["qwen3_coder", "<function=f></function>"],
  ])("take linear time in %s", (format, unit) => {
    const [few, many] = [20_000, 160_000].map((count) => timeFor(format, unit.repeat(count / 2)));
    expect(many).toBeLessThan(20 * few! + 200);
  });
});

describe("values that cost more than their letters", () => {
  const args = (text: string): string => `<tool_call>{"name":"f","arguments":${text}}</tool_call>`;
  const bare = (text: string): string =>
    `<tool_call>\n<function=f>\n<parameter=x>\n${text}\n</parameter>\n</function>\n</tool_call>`;
  const deep = "[".repeat(100_000) + "]".repeat(100_000);
  it.each([
    ["a marker of large integers", "hermes", args(`{"a":"${"_".repeat(20_000)}int:","b":12345678901234567890}`)],
    ["digits without end", "qwen3_coder", bare("9".repeat(500_000))],
    ["digits without end, in text", "hermes", args(`"{\\"a\\":${"9".repeat(500_000)}}"`)],
    ["nesting", "qwen3_coder", bare(deep)],
    ["nesting, in text", "hermes", args(`"{\\"x\\":${deep}}"`)],
  ])("%s", (_what, format, text) => {
    const list = { $ref: "#/$defs/list" };
    const { function: schema } = tool("f", { x: list });
    const parameters = { ...schema.parameters, $defs: { list: { type: "array" as const, items: list } } };
    const start = process.cpuUsage();
    const { calls, errors } = parserOf(format).parse(text, {
      tools: [{ type: "function", function: { name: "f", parameters } }],
    });
    expect(calls.length + errors.length).toBe(1);
    expect(() => calls.map((call) => openAiToolCall(call, "1"))).not.toThrow();
    const { user, system } = process.cpuUsage(start);
    expect(user + system).toBeLessThan(1_500_000);
  });
});

it("patterns of a schema, which an MCP server may have made to stall", () => {
  const parameters = { type: "object" as const, patternProperties: { "^(\\w+\\w+)+$": { type: "integer" as const } } };
  const key = `${"x".repeat(60)}!`;
  const text = `<tool_call>{"name":"f","arguments":{"${key}":"1","xx":"2"}}</tool_call>`;
  const start = process.cpuUsage();
  const { calls } = parserOf("hermes").parse(text, {
    tools: [{ type: "function", function: { name: "f", parameters } }],
  });
  expect(calls).toEqual([{ name: "f", arguments: { [key]: "1", xx: 2 } }]);
  const { user, system } = process.cpuUsage(start);
  expect(user + system).toBeLessThan(1_000_000);
});

it("paths of wrong values: those that are told are few and short", () => {
  const wrong = { [`${"k".repeat(1_000_000)}`]: Array.from({ length: 100_000 }, () => "x") };
  const parameters = {
    type: "object" as const,
    additionalProperties: { type: "array" as const, items: { type: "integer" as const } },
  };
  const texts: [format: string, text: string][] = [
    ["hermes", `<tool_call>${JSON.stringify({ name: "f", arguments: wrong })}</tool_call>`],
    ["glm45", `<tool_call>f\n<arg_key>${Object.keys(wrong)[0]}</arg_key>\n<arg_value>["x"]</arg_value>\n</tool_call>`],
  ];
  const told = texts.map(([format, text]) => {
    const { calls } = parserOf(format).parse(text, {
      tools: [{ type: "function", function: { name: "f", parameters } }],
    });
    return calls[0]!.mistyped!;
  });
  expect(told.map((paths) => [paths.length, paths.join().length])).toEqual([
    [32, 32 * 67 + 22 + 31],
    [1, 67],
  ]);
  expect(told[1]).toEqual([`${"k".repeat(64)}….0`]);
});

it("schemas that refer to themselves in many ways, and those that are deeper than any", () => {
  const names = Array.from({ length: 100 }, (_, at) => `op${at}`);
  const $defs = {
    any: { anyOf: [{ type: "integer" as const }, ...names.map((name) => ({ $ref: `#/$defs/${name}` }))] },
    ...Object.fromEntries(
      names.map((name) => [name, { properties: { a: { $ref: "#/$defs/any" }, b: { $ref: "#/$defs/any" } } }]),
    ),
  };
  const nested = (depth: number): object =>
    Array.from({ length: depth }).reduce<object>((below) => ({ anyOf: [below] }), { type: "integer" });
  const properties = { any: { $ref: "#/$defs/any" }, deep: nested(1000), deeper: nested(100_000) };
  const parameters = { type: "object" as const, properties, $defs };
  const tree = (depth: number, leaf: unknown): unknown =>
    depth === 0 ? leaf : { a: tree(depth - 1, leaf), b: tree(depth - 1, leaf) };
  const args = (depth: number, leaf: unknown) => ({ any: tree(depth, leaf), deep: leaf, deeper: "1" });
  const text = `<tool_call>${JSON.stringify({ name: "f", arguments: args(12, "1") })}</tool_call>`;
  const start = process.cpuUsage();
  const { calls } = parserOf("hermes").parse(text, {
    tools: [{ type: "function", function: { name: "f", parameters } }],
  });
  expect(calls).toEqual([{ name: "f", arguments: args(12, 1) }]);
  const { user, system } = process.cpuUsage(start);
  expect(user + system).toBeLessThan(1_000_000);
});

it.each([
  [
    "qwen3_coder",
    "<function=f><parameter=a>1</parameter><parameter=b></parameter>",
    " x<parameter=a></parameter> x",
    "</function></tool_call>",
  ],
  [
    "glm45",
    "<tool_call>f<arg_key>a</arg_key><arg_value>1</arg_value><arg_key>b</arg_key><arg_value></arg_value>",
    " x<arg_key>a</arg_key><arg_value></arg_value> x",
    "</tool_call>",
  ],
])("values of %s that end long before what shows it", (format, start, unit, end) => {
  const [few, many] = [20_000, 160_000].map((count) => timeFor(format, start + unit.repeat(count / 8) + end));
  expect(many).toBeLessThan(20 * few! + 200);
});

describe.each(ADVERSARIAL_FORMATS)("%s", (format) => {
  it("takes steps in proportion to the text, whatever its shape", () => {
    const steep = adversarialTexts(format, LENGTH).flatMap(({ shape, text }) => {
      const { steps: half } = workFor(format, [text.slice(0, text.length / 2)]);
      const { steps: whole } = workFor(format, [text]);
      return whole > 60 * text.length || whole > 3 * half + 1000 ? [{ shape, half, whole }] : [];
    });
    expect(steep).toEqual([]);
  });

  it("does not look again at what it has seen when pieces come", () => {
    for (const { text } of adversarialTexts(format, 3000).slice(0, 6)) {
      const { steps: whole } = workFor(format, [text]);
      expect(workFor(format, text.split("")).steps).toBeLessThan(4 * whole + 20 * text.length);
    }
  });
});
