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

it("checks the arguments of each of two tools whose schemas have one $id", async () => {
  const $id = "https://example.org/args";
  const other = { type: "object", properties: { n: { type: "integer" } } };
  const { parts } = toolAgent({ tools: `tools:\n${entry("a", { $id, ...CITY })}${entry("b", { $id, ...other })}` });
  const tools = await parts.tools();
  expect(tools.get("a")!.faults({})).toContain("city");
  expect(tools.get("b")!.faults({ n: "x" })).toBe("n must be integer");
});
