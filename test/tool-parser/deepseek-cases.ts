import type { ParserCase } from "./public-reports.ts";
import { TYPED_TOOLS } from "./typed-tool.ts";

const REPAIRED = { repaired: true };

/** The layout of V3.1, or of V3, with marks that are spelled otherwise. */
const spelled = (mark: (name: string) => string, format: string): string => {
  const [type, body] = format === "deepseek_v3" ? [`function${mark("sep")}`, 'f\n```json\n{"a": 1}\n```'] : ["f", ""];
  const call = body === "" ? `${type}${mark("sep")}{"a": 1}` : `${type}${body}`;
  return `Hm.${mark("calls begin")}${mark("call begin")}${call}${mark("call end")}${mark("calls end")}`;
};
const SPELLINGS: Readonly<Record<string, (name: string) => string>> = {
  "an underscore": (name) => `<｜tool_${name.replace(" ", "_")}｜>`,
  "a blank": (name) => `<｜tool ${name}｜>`,
  "an escaped underscore": (name) => `<｜tool\\_${name.replace(" ", "\\_")}｜>`,
  "plain bars": (name) => `<|tool▁${name.replace(" ", "▁")}|>`,
  "plain bars and underscores": (name) => `<|tool_${name.replace(" ", "_")}|>`,
};
const MARKS = Object.entries(SPELLINGS).flatMap(([how, mark]) =>
  ["deepseek_v3", "deepseek_v3_1"].flatMap((format): ParserCase[] => [
    {
      name: `marks with ${how}`,
      format,
      text: spelled(mark, format),
      content: "Hm.",
      calls: [["f", { a: 1 }, REPAIRED]],
    },
    {
      name: `marks with ${how}, strictly`,
      format,
      text: spelled(mark, format),
      options: { strict: true },
      content: "Hm.",
      errors: ["breaks its format"],
    },
  ]),
);

type Argument = [name: string, isText: boolean | undefined, value: string];
const parameter = ([name, isText, value]: Argument): string =>
  `<｜DSML｜parameter name="${name}"${isText === undefined ? "" : ` string="${isText}"`}>${value}</｜DSML｜parameter>\n`;
const invoke = (name: string, ...given: Argument[]): string =>
  `<｜DSML｜invoke name="${name}">\n${given.map(parameter).join("")}</｜DSML｜invoke>\n`;
const section = (...calls: string[]): string =>
  `<｜DSML｜function_calls>\n${calls.join("")}</｜DSML｜function_calls><｜end▁of▁sentence｜>`;

const DSML = (
  [
    {
      name: "text and JSON, by what the value says it is",
      text: `Hm.\n\n${section(invoke("f", ["a", true, "10"], ["b", false, "10"], ["c", false, '[1, {"d": null}]'], ["e", false, '"q"']))}`,
      content: "Hm.",
      calls: [["f", { a: "10", b: 10, c: [1, { d: null }], e: "q" }]],
    },
    {
      name: "two calls, one without arguments, behind reasoning",
      text: `<think>Hm.</think>\n\n${section(invoke("f", ["s", true, 'a\n  <b> & "c"\n']), invoke("g"))}`,
      reasoning: "Hm.",
      calls: [
        ["f", { s: 'a\n  <b> & "c"\n' }],
        ["g", {}],
      ],
    },
    {
      name: "the section of V4",
      text: `<｜DSML｜tool_calls>\n${invoke("f", ["a", false, "1"])}</｜DSML｜tool_calls>`,
      calls: [["f", { a: 1 }]],
    },
    {
      name: "types by the schema",
      text: section(
        invoke(
          "f",
          ["s", false, "3.10"],
          ["i", true, "5"],
          ["b", false, "True"],
          ["l", true, '["1"]'],
          ["o", false, "x"],
        ),
      ),
      options: { tools: TYPED_TOOLS },
      calls: [["f", { s: "3.10", i: 5, b: true, l: [1], o: "x" }, { repaired: true, mistyped: ["o"] }]],
    },
    {
      name: "a value that does not say what it is",
      text: section(invoke("f", ["a", undefined, "10"], ["b", undefined, "x"])),
      calls: [["f", { a: 10, b: "x" }, REPAIRED]],
    },
    {
      name: "arguments as one object",
      text: section('<｜DSML｜invoke name="f">\n{"a": {"b": 1}}\n</｜DSML｜invoke>\n'),
      calls: [["f", { a: { b: 1 } }]],
    },
    {
      name: "a large integer and an unusual key",
      text: section(invoke("f", ["n", false, "9007199254740993"], ["__proto__", true, "x"])),
      calls: [
        [
          "f",
          JSON.parse('{"n": 0, "__proto__": "x"}', (key, value: unknown) => (key === "n" ? 9007199254740993n : value)),
        ],
      ],
    },
    {
      name: "a whole section in a value",
      text: section(invoke("f", ["a", true, `See ${section(invoke("g", ["b", true, "x"]))} there`], ["c", true, "d"])),
      calls: [["f", { a: `See ${section(invoke("g", ["b", true, "x"]))} there`, c: "d" }]],
    },
    {
      name: "closing tags that are missing",
      text: '<｜DSML｜invoke name="f"><｜DSML｜parameter name="a" string="true">x\n<｜DSML｜parameter name="b" string="true">y</｜DSML｜invoke><｜DSML｜invoke name="g">',
      calls: [["f", { a: "x", b: "y" }, REPAIRED]],
      errors: ["truncated"],
    },
    {
      name: "a call that is not closed, one without name, one with text, one that is whole",
      text: section(
        '<｜DSML｜invoke name="f">\n<｜DSML｜parameter name="a" string="true">x</｜DSML｜parameter>\n',
        invoke(""),
        '<｜DSML｜invoke name="f">\noops\n</｜DSML｜invoke>\n',
        '<｜DSML｜invoke name="f"\n</｜DSML｜invoke>\n',
        '<｜DSML｜invoke name="f">\n<｜DSML｜parameter>1</｜DSML｜parameter>\n</｜DSML｜invoke>\n',
        '<｜DSML｜invoke name="f">\n<｜DSML｜parameter name="b"\n</｜DSML｜invoke>\n',
        invoke("g"),
      ),
      calls: [
        ["f", { a: "x" }, REPAIRED],
        ["g", {}],
      ],
      errors: ["has no name", "text between its parameters", "has no >", "a parameter has no name", '"b" has no >'],
    },
    {
      name: "a value without an end, cut off by the next call",
      text: `<｜DSML｜invoke name="f"><｜DSML｜parameter name="s" string="true">hel\n${invoke("ping")}`,
      calls: [["ping", {}]],
      errors: ['"s" has no end'],
    },
    {
      name: "cut in a value",
      text: '<｜DSML｜function_calls>\n<｜DSML｜invoke name="f">\n<｜DSML｜parameter name="a" string="true">x',
      errors: ["truncated"],
    },
    { name: "an empty section", text: section(), errors: ["a section of calls without a call"] },
  ] satisfies Omit<ParserCase, "format">[]
).map((given): ParserCase => ({ ...given, format: "deepseek_v3_2" }));

/** DeepSeek: marks that are spelled otherwise, and the layout of V3.2. */
export const DEEPSEEK_CASES: readonly ParserCase[] = [...MARKS, ...DSML];
