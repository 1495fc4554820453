import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { parquetWriteBuffer } from "hyparquet-writer";
import { readParquet } from "../../core/data/parquet/read-parquet.ts";
import { writeParquet } from "../../core/data/parquet/write-parquet.ts";
import { readRows } from "../../core/data/read-rows.ts";
import { errorOf, folderWith } from "./helpers.ts";

const SCHEMA = {
  data_source: "string",
  prompt: [{ role: "string", content: "string" }],
  reward_model: { style: "string", ground_truth: "string" },
  extra_info: { index: "int64", split: "string", weights: ["double"], fresh: "bool" },
} as const;

const ROWS = [
  {
    data_source: "sort",
    prompt: [{ role: "user", content: "héllo" }],
    reward_model: { style: "rule", ground_truth: "ehllo" },
    extra_info: { index: 7, split: "train", weights: [0.5, -1], fresh: true },
  },
  {
    data_source: "sort",
    prompt: [
      { role: "system", content: "" },
      { role: "user", content: null },
    ],
    reward_model: { style: null, ground_truth: "" },
    extra_info: { index: 2n ** 60n + 1n, split: null, weights: [], fresh: null },
  },
];

describe("readRows: parquet", () => {
  it("gives back nested rows as they were written, integers beyond 2^53 too", async () => {
    const file = join(folderWith({}), "rows.parquet");
    await writeParquet(file, ROWS, SCHEMA);
    expect(await readRows(file)).toEqual(ROWS);
  });

  it("keeps integers beyond 2^53 in JSON columns", async () => {
    const folder = folderWith({});
    const file = join(folder, "json.parquet");
    const bytes = parquetWriteBuffer({
      columnData: [{ name: "tool", type: "JSON", data: [{ id: 1 }, { big: "9007199254740993" }] }],
    });
    // The writer has no bigint in JSON, so the quotes go afterwards: same bytes, other digits.
    const text = Buffer.from(bytes).toString("latin1").replace('"9007199254740993"', " 9007199254740993 ");
    writeFileSync(file, Buffer.from(text, "latin1"));
    expect(await readRows(file)).toEqual([{ tool: { id: 1 } }, { tool: { big: 9007199254740993n } }]);
  });

  it("gives back any rows of a nested schema", async () => {
    const file = join(folderWith({}), "rows.parquet");
    const row = fc.record({
      name: fc.option(fc.string()),
      ids: fc.array(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), { maxLength: 3 }),
      turns: fc.array(fc.record({ role: fc.string(), scores: fc.array(fc.integer(), { maxLength: 3 }) }), {
        maxLength: 3,
      }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(row, { minLength: 1, maxLength: 8 }), async (rows) => {
        await writeParquet(file, rows, {
          name: "string",
          ids: ["int64"],
          turns: [{ role: "string", scores: ["double"] }],
        });
        const narrowed = rows.map((one) => ({
          ...one,
          ids: one.ids.map((id) => (Number.isSafeInteger(Number(id)) ? Number(id) : id)),
        }));
        expect(await readParquet(file)).toEqual(narrowed);
      }),
      { numRuns: 40 },
    );
  });
});

describe("readRows: JSON", () => {
  it("reads JSON Lines, an array, and lines in a .json file alike", async () => {
    const folder = folderWith({
      "a.jsonl": '{"a":1}\n\n{"a":{"b":[2]}}\r\n',
      "b.json": ' [{"a":1},{"a":{"b":[2]}}]',
      "c.json": '{"a":1}\n{"a":{"b":[2]}}',
    });
    for (const name of ["a.jsonl", "b.json", "c.json"]) {
      expect(await readRows(join(folder, name))).toEqual([{ a: 1 }, { a: { b: [2] } }]);
    }
  });

  it("reads what editors and shells make of it: a byte order mark, UTF-16, one object over several lines", async () => {
    const lines = '{"a":"é"}\n{"a":2}\n';
    const utf16 = Buffer.concat([Buffer.of(0xff, 0xfe), Buffer.from(lines, "utf16le")]);
    const folder = folderWith({
      "bom.jsonl": `\ufeff${lines}`,
      "bom.json": `\ufeff[{"a":"é"},{"a":2}]`,
      "wide.jsonl": utf16,
      "wide.json": utf16,
      "pretty.json": '{\n  "a": "é"\n}\n',
    });
    for (const name of ["bom.jsonl", "bom.json", "wide.jsonl", "wide.json"])
      expect([name, await readRows(join(folder, name))]).toEqual([name, [{ a: "é" }, { a: 2 }]]);
    expect(await readRows(join(folder, "pretty.json"))).toEqual([{ a: "é" }]);
  });

  it("reads lines longer than the pieces that a file is read in", async () => {
    const long = "é".repeat(2 ** 20);
    const folder = folderWith({ "a.jsonl": ["", "x", long, "", "y"].map((a) => JSON.stringify({ a })).join("\n") });
    const rows = await readRows(join(folder, "a.jsonl"));
    expect(rows.map(({ a }) => (a as string).length)).toEqual([0, 1, 2 ** 20, 0, 1]);
    expect(rows[2]).toEqual({ a: long });
  });

  it("keeps integers beyond 2^53", async () => {
    const folder = folderWith({ "a.jsonl": '{"id":12345678901234567}\n' });
    expect(await readRows(join(folder, "a.jsonl"))).toEqual([{ id: 12345678901234567n }]);
  });
});

describe("readRows: files that cannot be read", () => {
  const folder = folderWith({
    "empty.parquet": "",
    "cut.parquet": "PAR1 this is no parquet file",
    "bad.jsonl": '{"a":1}\n{"a":',
    "list.jsonl": "[1]\n",
    "none.json": "[]",
    "rows.csv": "a,b",
    "null.jsonl": "{}\nnull\n",
    "bare.json": "[{}, {}]",
    "latin.jsonl": Buffer.from('{"a":1}\n{"a":"é"}\n', "latin1"),
    "latin.json": Buffer.from('[{"a":1},\n{"a":"é"}]', "latin1"),
    "pretty.jsonl": '{\n"a": 1\n}',
  });
  mkdirSync(join(folder, "dir.parquet"));

  it.each([
    ["gone.parquet", "VERL_DATA_FILE_MISSING", 'gone.parquet" does not exist.'],
    ["dir.parquet", "VERL_DATA_FILE_MISSING", "is a folder"],
    ["empty.parquet", "VERL_DATA_EMPTY", "no bytes"],
    ["cut.parquet", "VERL_DATA_FILE_CORRUPT", "28 bytes"],
    ["bad.jsonl", "VERL_DATA_FILE_CORRUPT", "Line 2"],
    ["list.jsonl", "VERL_DATA_FILE_CORRUPT", "an array, not an object"],
    ["none.json", "VERL_DATA_EMPTY", "no rows"],
    ["rows.csv", "VERL_DATA_FILE_FORMAT", '".csv"'],
    ["gone.csv", "VERL_DATA_FILE_MISSING", 'gone.csv" does not exist.'],
    [".", "VERL_DATA_FILE_MISSING", "is a folder"],
    ["null.jsonl", "VERL_DATA_FILE_CORRUPT", "Line 2 is null"],
    ["bare.json", "VERL_DATA_EMPTY", "no columns"],
    ["latin.jsonl", "VERL_DATA_FILE_CORRUPT", "Line 2 is no text in UTF-8"],
    ["latin.json", "VERL_DATA_FILE_CORRUPT", "Line 2 is no text in UTF-8"],
    ["pretty.jsonl", "VERL_DATA_FILE_CORRUPT", "Line 1 is no JSON"],
  ])("%s: %s", async (name, code, text) => {
    const error = await errorOf(() => readRows(join(folder, name)));
    expect(error).toMatchObject({ code, location: { file: join(folder, name) } });
    expect(error.message).toContain(text);
    expect(error.hint).toBeTruthy();
  });
});
