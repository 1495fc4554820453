import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { cutInPieces, garbledTexts } from "../../core/testing/tool-parser-texts.ts";
import type { ParseOptions } from "../../core/agent/index.ts";
import { feed, FORMATS, parserOf } from "./helpers.ts";
import { MORE_CASES } from "./more-cases.ts";
import { PUBLIC_REPORTS, tool } from "./public-reports.ts";

const RUNS = Number(process.env["VERL_FUZZ_RUNS"] ?? (process.env["CI"] ? 10_000 : 300));
const SEEDS = [...PUBLIC_REPORTS, ...MORE_CASES];

/** The text of what a parser tells, in its order; of calls too where `length` cut the answer off. Recovered reasoning lacks marks: its letters. */
function partsOf(format: string, pieces: readonly string[], options: ParseOptions): string[] {
  const { answer, deltas } = feed(parserOf(format), pieces, options);
  const isCut = options.finishReason === "length";
  const from = deltas.findLastIndex(({ type }) => type === "retract");
  let found = 0;
  return deltas.slice(Math.max(0, from)).flatMap((delta) => {
    if (delta.type === "retract") return [delta.reasoning];
    if (delta.type === "reasoning" && options.recoverReasoning) return Array.from(delta.text);
    if (delta.type === "content" || delta.type === "reasoning") return [delta.text];
    if (delta.type === "call" && !isCut) return [];
    const error = answer.errors[found++]!;
    return error.inText ? [] : [error.raw];
  });
}

/** White space may be missing of what is told. */
const letters = (text: string): string => text.replace(/\s+/g, "");

/** The first part that does not stand behind those before it; undefined: all do. */
function misplaced(text: string, parts: readonly string[]): string | undefined {
  const all = letters(text);
  let at = 0;
  for (const part of parts.map(letters)) {
    const from = all.indexOf(part, at);
    if (from < 0) return part;
    at = from + part.length;
  }
  return undefined;
}

const run = (format: string, text: string, options: ParseOptions = {}, pieces: readonly string[] = [text]): void => {
  const parts = partsOf(format, pieces, options);
  const part = misplaced(text, parts);
  if (part !== undefined) expect({ text, parts, part }).toBeUndefined();
};

const F = '{"name": "f", "arguments": {}}';
const BAD = '{"name": "f", "arguments": "no"}';
const DATA = '{"a": 1}';
const SAID = '"content": "I look."';
/** Answers with what is no call beside what was meant as one, and their parts. */
const EXAMPLES: readonly [format: string, text: string, parts: readonly string[], options?: ParseOptions][] = [
  ["gpt_oss", "<|channel|>final<|message|>hi<|call|>", ["hi"]],
  ["gpt_oss", "<|start|>user<|message|>hi<|call|>", ["<|start|>user<|message|>hi"]],
  ["mistral", '[TOOL_CALLS][{"name": 3}][{"name": 3}]', ['[TOOL_CALLS][{"name": 3}]', '[{"name": 3}]']],
  ["mistral", '[TOOL_CALLS][][{"name": 3}]', ["[TOOL_CALLS][]", '[{"name": 3}]']],
  ["llama3_json", `${BAD}${DATA}`, [BAD, DATA]],
  ["json", `Hm. ${BAD} ${DATA} ${BAD}`, ["Hm. ", BAD, DATA, BAD]],
  [
    "json",
    `[${F}, {"name": "f",arguments": 3}]`,
    [`[${F}`, '{"name": "f",arguments": 3}]'],
    { finishReason: "length" },
  ],
  ["json", `{"tool_calls": [${BAD}, ${BAD}]}`, [`{"tool_calls": [${BAD}, `, `${BAD}]}`]],
  ["json", `[${BAD}, {${SAID}, "tool_calls": [${BAD}]}]`, [`[${BAD}`, "I look.", `"tool_calls": [${BAD}]}]`]],
  ["json", `{"tool_calls": [${BAD}, ${BAD}], ${SAID}}`, [`{"tool_calls": [${BAD}, `, `${BAD}], `, "I look."]],
  ["hermes", `<think>Hm. <tool_call>${F}</tool_call>`, [`Hm. <tool_call>${F}</tool_call>`]],
];

it.each(EXAMPLES)("%s: %s", (format, text, parts, options = {}) => {
  expect(partsOf(format, [text], options)).toEqual(parts);
});

it("has what surrounds the calls of recovered reasoning in its place", () => {
  const text = `Hm. <tool_call>${BAD}</tool_call> Well.`;
  expect(partsOf("hermes", [`<think>${text}`], { recoverReasoning: true }).join("")).toBe(text);
});

describe.each(FORMATS)("%s", (format) => {
  const seeds = SEEDS.filter((seed) => seed.format === format);
  it("does so in every case of the tests", () => {
    for (const { text, options } of seeds)
      for (const finishReason of ["stop", "length"] as const) run(format, text, { ...options, finishReason });
  });
  it("tells each letter of an answer once, in the order of the answer", () => {
    const names = [...new Set(seeds.flatMap(({ calls = [] }) => calls.map(([name]) => name)))];
    const tools = names.map((name) => tool(name, {}));
    const options = fc.record({
      tools: fc.constantFrom(undefined, tools),
      strict: fc.boolean(),
      recoverReasoning: fc.boolean(),
      startsInReasoning: fc.constantFrom(undefined, undefined, true, false),
      finishReason: fc.constantFrom("stop" as const, "length" as const),
    });
    fc.assert(
      fc.property(
        garbledTexts(seeds.map(({ text }) => text)),
        options,
        fc.array(fc.integer({ min: 1, max: 21 }), { minLength: 1, maxLength: 5 }),
        (text, given, sizes) => run(format, text, given, cutInPieces(text, sizes)),
      ),
      { numRuns: RUNS },
    );
  });
});
