import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { parquetReadObjects, asyncBufferFromFile } from "hyparquet";
import { parquetWriteBuffer } from "hyparquet-writer";
import { inferSchema } from "../../core/data/parquet/infer-schema.ts";
import type { ParquetType } from "../../core/data/parquet/parquet-type.ts";
import { readParquet } from "../../core/data/parquet/read-parquet.ts";
import { stringifyLosslessJson } from "../../core/data/lossless-json.ts";
import { writeParquet } from "../../core/data/parquet/write-parquet.ts";
import { errorOf, folderWith } from "./helpers.ts";

const file = join(folderWith({}), "rows.parquet");

const SCHEMA = {
  name: "string",
  turns: [{ role: "string", calls: [{ id: "int64", args: { x: "double" } }] }],
  matrix: [["int32"]],
  info: { inner: { flag: "bool", tags: ["string"] } },
} as const;

const orNull = <T>(of: fc.Arbitrary<T>): fc.Arbitrary<T | null> => fc.option(of, { freq: 3 });
const listOf = <T>(of: fc.Arbitrary<T>): fc.Arbitrary<(T | null)[] | null> =>
  orNull(fc.array(orNull(of), { maxLength: 3 }));
// `fc.record` makes objects without prototype now and then, which a reader never does.
const record = <T>(fields: { [K in keyof T]: fc.Arbitrary<T[K]> }): fc.Arbitrary<T> =>
  fc.record(fields, { noNullPrototype: true });

const row = record({
  name: orNull(fc.string({ unit: "grapheme" })),
  turns: listOf(
    record({
      role: orNull(fc.string()),
      calls: listOf(
        record({
          id: orNull(fc.maxSafeInteger()),
          args: orNull(record({ x: orNull(fc.double({ noNaN: true })) })),
        }),
      ),
    }),
  ),
  matrix: listOf(fc.array(orNull(fc.integer()), { maxLength: 2 })),
  info: orNull(record({ inner: orNull(record({ flag: orNull(fc.boolean()), tags: listOf(fc.string()) })) })),
});

describe("readParquet", () => {
  it("gives back what was written, nulls and empty lists at every depth told apart", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(row, { minLength: 1, maxLength: 10 }), async (rows) => {
        await writeParquet(file, rows, SCHEMA);
        expect(await readParquet(file)).toEqual(rows);
      }),
      { numRuns: 60 },
    );
  });

  it.each(["UNCOMPRESSED", "SNAPPY"] as const)("reads many row groups and pages, %s", async (codec) => {
    const texts = Array.from({ length: 3000 }, (_, index) =>
      index % 7 === 0 ? null : `é${index % 50}`.repeat(index % 5),
    );
    const bytes = parquetWriteBuffer({
      columnData: [
        { name: "text", data: texts, type: "STRING" },
        { name: "plain", data: texts.map((text) => text ?? "x".repeat(300)), type: "STRING", encoding: "PLAIN" },
        { name: "id", data: texts.map((_, index) => 2n ** 53n - 1500n + BigInt(index)), type: "INT64" },
      ],
      rowGroupSize: 700,
      pageSize: 512,
      codec,
    });
    writeFileSync(file, new Uint8Array(bytes));
    const rows = await readParquet(file);
    expect(rows.map(({ text }) => text)).toEqual(texts);
    expect(rows.map(({ plain }) => plain)).toEqual(texts.map((text) => text ?? "x".repeat(300)));
    expect([rows[0]!.id, rows[2999]!.id]).toEqual([2 ** 53 - 1500, 2n ** 53n + 1499n]);
  });

  it("tells a column whose name has a dot from the field of a struct, and takes any name", async () => {
    const rows = [{ "a.b": 1, a: { b: 2 }, "": 3, info: JSON.parse('{"__proto__":{"x":1},"toString":2}') as object }];
    await writeParquet(file, rows, inferSchema(rows));
    const [read] = await readParquet(file);
    expect(read).toEqual(rows[0]);
    expect(Object.keys(read!.info as object)).toEqual(["__proto__", "toString"]);
    expect(Object.getPrototypeOf(read!.info)).toBe(Object.prototype);
  });

  it("reads a page that holds nothing, compressed by LZ4 as Arrow does", async () => {
    // Of pyarrow 25: { a: ["x", null], b: [null, null] }.
    const written =
      "UEFSMRUEFQoVDEwVAhUAEgAAUAEAAAB4FQAVEhUULBUEFRAVBhUGHAAAAJACAAAAAwEBAgAVBBUAFQJMFQAVABIAAAAVABUOFRAsFQQVEBUGFQYcAAAAcAIAAAAEAAAVBBk8NQAYBnNjaGVtYRUEABUMJQIYAWElAEwcAAAAFQwlAhgBYiUATBwAAAAWBBkcGSwmABwVDBk1AAYQGRgBYRUOFgQWXhZiJjAmCCksFQQVABUCABUAFRAVAgA8FgIZBhkmAgIAAAAmABwVDBk1AAYQGRgBYhUOFgQWUBZUJogBJmopLBUEFQAVAgAVABUQFQIAPBYAGQYZJgQAAAAAFq4BFgQmCBa2AQAoIHBhcnF1ZXQtY3BwLWFycm93IHZlcnNpb24gMjUuMC4xGSwcAAAcAAAA1gAAAFBBUjE=";
    writeFileSync(file, Buffer.from(written, "base64"));
    expect(await readParquet(file)).toEqual([
      { a: "x", b: null },
      { a: null, b: null },
    ]);
  });

  it("keeps binary columns as bytes, in lists and structs too, and writes them so", async () => {
    const image = Uint8Array.from({ length: 300 }, (_, i) => (i * 73) % 256);
    const rows = [
      {
        id: image,
        images: [
          { bytes: image, path: "a.png" },
          { bytes: null, path: null },
        ],
      },
      { id: new Uint8Array(), images: null },
      { id: image, images: [] },
    ];
    await writeParquet(file, rows, inferSchema(rows));
    const read = await readParquet(file);
    expect(read).toEqual(rows);
    expect((read[0]!.id as Uint8Array).buffer.byteLength).toBe(300);
    expect(stringifyLosslessJson({ id: read[1]!.id, b: new Uint8Array([1, 2]) })).toBe('{"id":"","b":"AQI="}');
  });

  it("tells bytes from text by what the file says of the column, dictionaries included", async () => {
    // Of pyarrow: texts, enums and JSON are marked; binary is not.
    const data = ["x", "y", "x", "y", "x", "y"].map((text) => new TextEncoder().encode(text));
    const column = (name: string, more: object) =>
      ({ name, type: "BYTE_ARRAY", repetition_type: "OPTIONAL", ...more }) as const;
    const bytes = parquetWriteBuffer({
      columnData: ["text", "raw"].map((name) => ({
        name,
        data: name === "raw" ? data : data.map((one) => new TextDecoder().decode(one)),
      })),
      schema: [{ name: "root", num_children: 2 }, column("text", { converted_type: "UTF8" }), column("raw", {})],
    });
    writeFileSync(file, new Uint8Array(bytes));
    const rows = await readParquet(file);
    expect(rows.map(({ text }) => text).join("")).toBe("xyxyxy");
    expect(rows.map(({ raw }) => raw)).toEqual(data);
  });

  it("leaves maps to the package", async () => {
    const bytes = parquetWriteBuffer({
      columnData: [{ name: "counts", data: [{ a: 1n, b: 2n ** 60n }, {}, null] }],
      schema: [
        { name: "root", num_children: 1 },
        { name: "counts", repetition_type: "OPTIONAL", num_children: 1, converted_type: "MAP" },
        { name: "key_value", repetition_type: "REPEATED", num_children: 2 },
        { name: "key", type: "BYTE_ARRAY", repetition_type: "REQUIRED", converted_type: "UTF8" },
        { name: "value", type: "INT64", repetition_type: "OPTIONAL" },
      ],
    });
    writeFileSync(file, new Uint8Array(bytes));
    expect(await readParquet(file)).toEqual([{ counts: { a: 1, b: 2n ** 60n } }, { counts: {} }, { counts: null }]);
  });

  it("reads dates and decimals as the package does", async () => {
    const bytes = parquetWriteBuffer({
      columnData: [{ name: "at", data: [new Date(0), new Date(1e12)], type: "TIMESTAMP" }],
    });
    writeFileSync(file, new Uint8Array(bytes));
    expect(await readParquet(file)).toEqual(await parquetReadObjects({ file: await asyncBufferFromFile(file) }));
  });

  it("says which column ends too soon", async () => {
    await writeParquet(file, [{ name: "abc" }], { name: "string" });
    const whole = parquetWriteBuffer({
      columnData: [{ name: "text", data: ["abcd"], type: "STRING", encoding: "PLAIN" }],
    });
    const bytes = new Uint8Array(whole);
    const at = Buffer.from(bytes).indexOf("abcd") - 4;
    bytes[at] = 200;
    writeFileSync(file, bytes);
    await expect(readParquet(file)).rejects.toThrow("a page of strings ends too soon");
  });
});

describe("writeParquet", () => {
  it.each<[string, ParquetType, unknown, RegExp]>([
    ["a string", "int64", "5", /"a", row 1 holds the string "5"; its type wants a 64-bit integer/],
    ["a fraction", "int64", 0.5, /the number "0.5"; its type wants a 64-bit integer/],
    ["an integer of more than 64 bits", "int64", 2n ** 63n, /64-bit integer/],
    ["an integer of more than 32 bits", "int32", 2 ** 31, /32-bit integer/],
    ["an integer that a double rounds", "double", 2n ** 53n + 1n, /a number that a double holds/],
    ["a number", "string", 5, /its type wants a string/],
    ["a number", "bool", 1, /its type wants true or false/],
    ["a number", ["string"], 5, /its type wants a list/],
    ["a number in a list", ["string"], ["x", 5], /"a\[\]", row 1/],
    ["a list", { x: "string" }, ["x"], /its type wants an object/],
  ])("refuses %s in a column of %j", async (_, type, value, message) => {
    const error = await errorOf(() => writeParquet(file, [{ a: null }, { a: value }], { a: type }));
    expect(error).toMatchObject({ code: "VERL_DATA_COLUMN_TYPE", details: { row: 1 } });
    expect(error.message).toMatch(message);
  });

  it("leaves what was there where it fails, and nothing beside it", async () => {
    const folder = folderWith({ "a.parquet": "before" });
    const target = join(folder, "a.parquet");
    await errorOf(() => writeParquet(target, [{ a: 1 }], { a: "string" }));
    await errorOf(() => writeParquet(join(folder, "none", "a.parquet"), [{ a: 1 }], { a: "int64" }));
    expect(readFileSync(target, "utf8")).toBe("before");
    expect(readdirSync(folder)).toEqual(["a.parquet"]);
  });
});

describe("inferSchema", () => {
  const deep = (levels: number): unknown => (levels === 0 ? 1 : { a: deep(levels - 1) });

  it.each<[unknown[], ParquetType]>([
    [[1, 0.5], "double"],
    [[1, 2n ** 60n], "int64"],
    [[null, []], ["string"]],
    [[[null, [1]]], [["int64"]]],
    [[{ a: null }, null, { b: { c: true } }], { a: "string", b: { c: "bool" } }],
    [[{}], "json"],
  ])("%j is %j", (values, type) => {
    expect(inferSchema(values.map((a) => ({ a })))).toEqual({ a: type });
  });

  it.each<[string, unknown[]]>([
    ["int64 and string", [1, "x"]],
    ["integers beyond 2^53 and fractions", [2n ** 60n, 0.5]],
    ["integers beyond 2^53 and fractions", [0.5, 1, 2n ** 60n]],
    ["integers beyond those of 64 bits with a sign", [2n ** 63n]],
    ["more than 50 levels of lists and structs", [deep(3000)]],
  ])("has no type for %s, but JSON", async (what, values) => {
    const rows = values.map((value) => ({ "a.b": value }));
    const error = await errorOf(() => inferSchema(rows));
    expect(error.message).toContain(what);
    expect(error.hint).toContain("{ a.b: json }");
    expect(inferSchema(rows, { mixed: "json" })).toEqual({ "a.b": expect.anything() });
  });
});
