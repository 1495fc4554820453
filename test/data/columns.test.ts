import { describe, expect, it } from "@jest/globals";
import { asMessages, readTools, withoutNullFields } from "../../core/data/columns.ts";
import { inferSchema, typeText } from "../../core/data/parquet/infer-schema.ts";
import { errorOf } from "./helpers.ts";

const ORIGIN = { file: "a.parquet", row: 3 };

/** What parquet makes of two tool schemas: each has the fields of both. */
const UNION = [
  {
    type: "function",
    function: { name: "f", parameters: { properties: { city: { type: "string", enum: null }, zip: null } } },
  },
  {
    type: "function",
    function: { name: "g", parameters: { properties: { city: null, zip: { type: "integer", enum: [1, null] } } } },
  },
];

describe("fields that are null because other rows have them", () => {
  it("are taken from tools at every depth; items of lists stay", () => {
    expect(readTools(UNION, "tools", ORIGIN)).toEqual([
      { type: "function", function: { name: "f", parameters: { properties: { city: { type: "string" } } } } },
      {
        type: "function",
        function: { name: "g", parameters: { properties: { zip: { type: "integer", enum: [1, null] } } } },
      },
    ]);
  });

  it("stay in JSON text, where a null was written on purpose", () => {
    const text = '[{"name":"f","default":null,"id":9007199254740993}]';
    expect(readTools(text, "tools", ORIGIN)).toEqual([{ name: "f", default: null, id: 9007199254740993n }]);
  });

  it("are taken from messages, but for the content", () => {
    const messages = [
      { role: "user", content: "a", tool_calls: null, name: null },
      {
        role: "assistant",
        content: null,
        tool_calls: [{ function: { name: "f", arguments: { city: "x", zip: null } } }],
      },
    ];
    expect(asMessages(messages, "prompt", ORIGIN)).toEqual([
      { role: "user", content: "a" },
      { role: "assistant", content: null, tool_calls: [{ function: { name: "f", arguments: { city: "x" } } }] },
    ]);
    expect(withoutNullFields({ a: { b: null }, c: [null, { d: null }] })).toEqual({ a: {}, c: [null, {}] });
  });
});

describe("asMessages", () => {
  it("reads arguments of tool calls from JSON text, large integers kept, and leaves other text alone", () => {
    const call = (text: string) => [{ role: "assistant", tool_calls: [{ function: { name: "f", arguments: text } }] }];
    const read = (text: string) => asMessages(call(text), "messages", ORIGIN)[0];
    expect(read('{"id": 9007199254740993}')).toEqual({
      role: "assistant",
      content: "",
      tool_calls: [{ function: { name: "f", arguments: { id: 9007199254740993n } } }],
    });
    for (const text of ["{", "[1]", '"x"']) {
      expect(read(text)!.tool_calls).toEqual([{ function: { name: "f", arguments: text } }]);
    }
  });

  it("wants a content where there are no tool calls", async () => {
    const error = await errorOf(() => asMessages([{ role: "assistant" }], "messages", ORIGIN));
    expect(error.code).toBe("VERL_DATA_COLUMN_TYPE");
  });

  it.each([undefined, null])("names message and row of a content that is null, with %s tool calls", async (calls) => {
    const messages = [
      { role: "user", content: "a" },
      { role: "assistant", content: null, tool_calls: calls },
    ];
    const error = await errorOf(() => asMessages(messages, "messages", { file: "a.jsonl", row: 3 }));
    expect(error).toMatchObject({ code: "VERL_DATA_COLUMN_TYPE", location: { file: "a.jsonl" } });
    expect(error.message).toBe(
      'Column "messages[1].content", row 3 holds nothing; expected text or a list of parts; only a message with tool_calls may have none.',
    );
  });
});

describe("inferSchema", () => {
  it("settles types over all rows: unions of structs, whole numbers, nulls", () => {
    const rows = [
      { a: 1, b: [{ x: null }], c: null, d: 2n ** 60n, e: {}, f: [] },
      { a: 0.5, b: [{ y: "t" }, null], c: true, d: 7, f: [[1]] },
    ];
    const schema = inferSchema(rows);
    expect(schema).toEqual({
      a: "double",
      b: [{ x: "string", y: "string" }],
      c: "bool",
      d: "int64",
      e: "json",
      f: [["int64"]],
    });
    expect(typeText(schema.b!)).toBe("list<struct<x: string, y: string>>");
  });

  it("names what no column holds, or takes JSON text for it", async () => {
    const rows = [{ a: { b: [1] } }, { a: { b: ["x"] } }];
    const error = await errorOf(() => inferSchema(rows));
    expect(error).toMatchObject({ code: "VERL_DATA_COLUMN_TYPE", details: { column: "a.b[]" } });
    expect(error.message).toContain("int64 and string");
    expect(inferSchema(rows, { mixed: "json" })).toEqual({ a: { b: ["json"] } });
    expect((await errorOf(() => inferSchema([{ a: 2n ** 70n }]))).message).toContain("64 bits with a sign");
  });
});
