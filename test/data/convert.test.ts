import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import { convertRows } from "../../core/data/convert/convert-rows.ts";
import { readMapping } from "../../core/data/convert/mapping.ts";
import { readTable } from "../../core/data/convert/read-table.ts";
import { errorOf, folderWith } from "./helpers.ts";

async function convert(mapping: string, rows: readonly Record<string, unknown>[]): Promise<object[]> {
  const folder = folderWith({ "m.yaml": mapping });
  return convertRows(rows, await readMapping(join(folder, "m.yaml")), "data.jsonl").rows;
}

const ROW = {
  question: " How many? ",
  answer: "2+3 = 5\n#### 1,005",
  level: "3",
  id: "9007199254740993",
  own: { x: [1] },
};

describe("a mapping", () => {
  it.each<[string, unknown]>([
    ["'{question|trim} Think.'", "How many? Think."],
    ["'{answer|after ####|trim|without ,}'", "1005"],
    ["'{answer|before =|lower}'", "2+3 "],
    ["'{level|number}'", 3],
    ["'{id|number}'", 9007199254740993n],
    ["'{row_index}'", 0],
    ["'{own}'", { x: [1] }],
    ["'is {own.x}'", "is [1]"],
    ["'{{{level}}} {{}}'", "{3} {}"],
    [
      "[{ role: user, content: '{level}', n: 1, on: true, off: null }]",
      [{ role: "user", content: "3", n: 1, on: true, off: null }],
    ],
  ])("%s", async (template, value) => {
    expect(await convert(`columns: { a: ${template} }`, [ROW])).toEqual([{ a: value }]);
  });

  it.each<[string, RegExp]>([
    ["", /no `columns:`/],
    ["columns: [a]", /no `columns:`/],
    ["column: { a: x }", /no `columns:`/],
    ["columns: { a: x }\nkinds: {}", /key "kinds"/],
    ["columns: { a: x }\ntypes: { a: strng }", /no type/],
    ["columns: { a: x }\ntypes: { b: string }", /names the column "b"/],
    ["columns: { a: {question} }", /\{question\} is a map in YAML; a field needs quotes, "\{question\}"/],
    ["columns: { a: [{ role: user, content: {question} }] }", /\{question\} is a map/],
    ["columns: { a: '{question' }", /"a": The text "\{question" has a \{ without its partner/],
    ["columns: { a: 'question}' }", /has a \} without its partner/],
    ["columns: { a: '{a{b}}' }", /without its partner/],
    ["columns: { a: '{question|trimm}' }", /no filter "trimm"/],
    ["columns: { a: '{question|toString}' }", /no filter "toString"/],
    ["columns: { a: '{question|after}' }", /"after" needs a text behind it/],
    ["columns: { a: '{question|trim x}' }", /"trim" takes nothing behind it/],
    ["columns: &x { a: *x }", /cannot be read: .*circular/],
    ["columns: { a: x, a: y }", /not valid YAML: .*unique/],
  ])("%j is refused before any row is read", async (mapping, message) => {
    const file = join(folderWith({ "m.yaml": mapping }), "m.yaml");
    const error = await errorOf(() => readMapping(file));
    expect(error).toMatchObject({ code: "VERL_DATA_MAPPING", location: { file } });
    expect(error.message).toMatch(message);
  });

  it.each<[string, RegExp]>([
    ["{qestion}", /Row 0, column "a": The row has no field "qestion"/],
    ["{}", /no field ""/],
    ["{own.y}", /no field "own\.y"/],
    ["{question.length}", /no field "question\.length"/],
    ["{own.__proto__}", /no field "own\.__proto__"/],
    ["{question|number}", /"question" is no number but the string " How many\? "/],
    ["{question|json}", /"question" is no JSON: Unexpected/],
    ["{question|messages}", /"question" is no list of messages/],
    ["{answer|after ====}", /"answer" has no "===="/],
  ])("%s is refused with the row", async (template, message) => {
    const error = await errorOf(() => convert(`columns: { a: "${template}" }`, [ROW]));
    expect(error).toMatchObject({ code: "VERL_DATA_MAPPING", details: { row: 0, column: "a" } });
    expect(error.message).toMatch(message);
  });
});

describe("a table", () => {
  it.each<[string, string | Uint8Array, object[]]>([
    [
      "quotes, line breaks, a byte order mark",
      '\ufeffa,b\r\n"x ""q"" y","l1\nl2"\r\n',
      [{ a: 'x "q" y', b: "l1\nl2" }],
    ],
    ["semicolons", 'a;b\n"1,5";2\n', [{ a: "1,5", b: "2" }]],
    ["one column with a semicolon in its values", "a\nx;y\n", [{ a: "x;y" }]],
    ["UTF-16", Buffer.concat([Buffer.of(0xff, 0xfe), Buffer.from("a,b\né,2\n", "utf16le")]), [{ a: "é", b: "2" }]],
    ["a column without a name", ",b\n0,2\n", [{ "": "0", b: "2" }]],
    ["no line end", "a,b\n1,2", [{ a: "1", b: "2" }]],
  ])("with %s", async (_, content, rows) => {
    expect(await readTable(join(folderWith({ "t.csv": content }), "t.csv"))).toEqual(rows);
  });

  it.each<[string, string | Uint8Array, string, RegExp, number | undefined]>([
    ["a quote that does not close", 'a,b\n1,"x\n2,y\n', "VERL_DATA_FILE_CORRUPT", /Quote Not Closed/, 3],
    ["a quote in a field", 'a,b\n1,x"y\n', "VERL_DATA_FILE_CORRUPT", /Invalid Opening Quote/, 2],
    ["a row with a field more", "a,b\n1,2,3\n", "VERL_DATA_FILE_CORRUPT", /Invalid Record Length/, 2],
    ["a row with a field less", "a,b\n1\n", "VERL_DATA_FILE_CORRUPT", /Invalid Record Length/, 2],
    ["a column twice", "a,a\n1,2\n", "VERL_DATA_FILE_CORRUPT", /the header names the column "a" twice/, undefined],
    ["another encoding", Buffer.from("a,b\n1,2\né,2\n", "latin1"), "VERL_DATA_FILE_CORRUPT", /Line 3 is no text/, 3],
    ["a header alone", "a,b\n", "VERL_DATA_EMPTY", /no rows/, undefined],
    ["nothing", "", "VERL_DATA_EMPTY", /no rows/, undefined],
  ])("with %s is refused", async (_, content, code, message, line) => {
    const error = await errorOf(() => readTable(join(folderWith({ "t.csv": content }), "t.csv")));
    expect(error).toMatchObject({ code, ...(line !== undefined && { location: { line } }) });
    expect(error.message).toMatch(message);
  });
});
