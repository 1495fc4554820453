import { expect, it } from "@jest/globals";
import { registerOnce, toolAgent } from "./support/conversation.ts";
import { testTools } from "./support/tools.ts";

registerOnce(testTools);

const entry = (name: string, parameters: object): string =>
  `  - class_name: test-recorded\n    tool_schema: ${JSON.stringify({ type: "function", function: { name, parameters } })}\n`;

const CITY = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };

it.each([
  ["none", undefined],
  ["draft 6", "http://json-schema.org/draft-06/schema#"],
  ["draft 7", "http://json-schema.org/draft-07/schema#"],
  ["2019-09", "https://json-schema.org/draft/2019-09/schema"],
  ["2020-12, as zod writes it", "https://json-schema.org/draft/2020-12/schema"],
])("checks arguments by a schema whose dialect is %s", async (_, $schema) => {
  const { parts, log } = toolAgent({ tools: `tools:\n${entry("w", { $schema, ...CITY })}` });
  const { faults } = (await parts.tools()).get("w")!;
  expect(faults({ city: 3 })).toBe("city must be string");
  expect(faults({ city: "Oslo" })).toBeUndefined();
  expect(log.lines.join()).not.toContain("no JSON Schema");
});

it("reads what only 2020-12 has", async () => {
  const $schema = "https://json-schema.org/draft/2020-12/schema";
  const pair = { type: "array", prefixItems: [{ type: "string" }, { $ref: "#/$defs/n" }] };
  const parameters = { $schema, type: "object", properties: { pair }, $defs: { n: { type: "integer" } } };
  const { parts } = toolAgent({ tools: `tools:\n${entry("w", parameters)}` });
  const { faults } = (await parts.tools()).get("w")!;
  expect(faults({ pair: ["a", "b"] })).toBe("pair.1 must be integer");
  expect(faults({ pair: ["a", 1] })).toBeUndefined();
});

it.each<[string, object, unknown, unknown]>([
  ["a list by places", { type: "array", prefixItems: [{ type: "integer" }], items: false }, [1], [1, "a"]],
  ["a list by places, as draft 7 has it", { items: [{ type: "integer" }], additionalItems: false }, [1], [1, "a"]],
  [
    "a property of that name",
    { properties: { prefixItems: { items: [{ type: "integer" }] } } },
    {},
    { prefixItems: ["a"] },
  ],
  ["a choice, or null", { anyOf: [{ type: "integer" }, { type: "boolean" }], nullable: true }, null, "a"],
  ["a reference, or null", { $ref: "#/$defs/n", nullable: true }, null, "a"],
  ["a reference into a choice, or null", { $ref: "#/$defs/choice/anyOf/0" }, 1, null],
  ["a list of values, or null", { enum: ["a"], nullable: true }, null, "b"],
  ["one of several, or null", { items: { oneOf: [{ type: "integer" }], nullable: true } }, [null, 1], ["a"]],
  ["a choice that is not null", { anyOf: [{ type: "integer" }], nullable: false }, 1, null],
  ["a type, or null", { type: "integer", nullable: true }, null, "a"],
])("reads what OpenAPI and the drafts say without naming one: %s", async (_, value, fitting, other) => {
  const $defs = { n: { type: "integer" }, choice: { anyOf: [{ type: "integer" }], nullable: true } };
  const parameters = {
    type: "object",
    properties: { value },
    ...(JSON.stringify(value).includes("$defs") && { $defs }),
  };
  const { parts, log } = toolAgent({ tools: `tools:\n${entry("w", parameters)}` });
  const { faults } = (await parts.tools()).get("w")!;
  expect(log.lines.join()).not.toContain("no JSON Schema");
  expect(faults({ value: fitting })).toBeUndefined();
  expect(faults({ value: other })).toContain("value");
});

it("checks the arguments of each of two tools whose schemas have one $id", async () => {
  const $id = "https://example.org/args";
  const other = { type: "object", properties: { n: { type: "integer" } } };
  const { parts } = toolAgent({ tools: `tools:\n${entry("a", { $id, ...CITY })}${entry("b", { $id, ...other })}` });
  const tools = await parts.tools();
  expect(tools.get("a")!.faults({})).toContain("city");
  expect(tools.get("b")!.faults({ n: "x" })).toBe("n must be integer");
});
