import { isDeepStrictEqual } from "node:util";
import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { cutInPieces, garbledTexts } from "../../core/testing/tool-parser-texts.ts";
import { feed, FORMATS, joined, parserOf } from "./helpers.ts";
import { MORE_CASES } from "./more-cases.ts";
import { PUBLIC_REPORTS } from "./public-reports.ts";

/** Random texts a parser. */
const RUNS = Number(process.env["VERL_FUZZ_RUNS"] ?? (process.env["CI"] ? 10_000 : 300));

/** What of a format cannot be prose: where it stands outside reasoning, there is a call or an error. */
const SURE_SIGNS: Readonly<Record<string, RegExp>> = {
  hermes: /<tool_call>\s*\{"name"/,
  qwen3_coder: /<tool_call>\s*<function=/,
  glm45: /<tool_call>\w+\s*<arg_key>/,
  kimi_k2: /<\|tool_call_begin\|>[\w.]+:\d/,
  deepseek_v3: /<｜tool▁call▁begin｜>\w/,
  deepseek_v3_1: /<｜tool▁call▁begin｜>\w/,
  deepseek_v3_2: /<｜DSML｜invoke name=/,
  mistral: /^\[TOOL_CALLS\]|\[TOOL_CALLS\](?:\w|\[\{")/m,
  // Elsewhere it may stand in a string of data.
  llama3_json: /^<\|python_tag\|>/m,
  llama4_pythonic: /^<\|python_start\|>/m,
  // In a line with other text it may be data.
  pythonic: /^\[\w+\(\w+=[^\n[\]]*\]?$/,
  gpt_oss: /<\|channel\|>commentary to=functions\.\w+/,
  // Elsewhere it may be data.
  json: /^\{"name": "\w+", "arguments"/,
};
/** How the turn ends, and a call of `late` in the next one. */
const NEXT_TURNS: Readonly<Record<string, string>> = {
  hermes: '<|im_end|>\n<tool_call>{"name": "late", "arguments": {}}</tool_call>',
  qwen3_coder: "<|im_end|>\n<tool_call>\n<function=late>\n</function>\n</tool_call>",
  glm45: "<|observation|>\n<tool_call>late</tool_call>",
  kimi_k2: "<|im_end|>\n<|tool_call_begin|>late<|tool_call_argument_begin|>{}<|tool_call_end|>",
  deepseek_v3:
    "<｜end▁of▁sentence｜>\n<｜tool▁call▁begin｜>function<｜tool▁sep｜>late\n```json\n{}\n```<｜tool▁call▁end｜>",
  deepseek_v3_1: "<｜end▁of▁sentence｜>\n<｜tool▁call▁begin｜>late<｜tool▁sep｜>{}<｜tool▁call▁end｜>",
  deepseek_v3_2: '<｜end▁of▁sentence｜>\n<｜DSML｜invoke name="late">\n</｜DSML｜invoke>',
  mistral: "</s>[INST]x[/INST][TOOL_CALLS]late{}",
  llama3_json: '<|eot_id|>\n<|python_tag|>{"name": "late", "parameters": {}}',
  llama4_pythonic: "<|eot|>\n<|python_start|>[late()]<|python_end|>",
  pythonic: "<|eot_id|>\n[late()]",
  json: '<|im_end|>\n{"name": "late", "arguments": {}}',
};
const REASONING = /think|THINK|analysis/;

const SEEDS = [...PUBLIC_REPORTS, ...MORE_CASES];
/** As `toEqual`, which alone would take most of the time of so many runs. */
function same(actual: unknown, wanted: unknown): void {
  if (!isDeepStrictEqual(actual, wanted)) expect(actual).toStrictEqual(wanted);
}

describe.each(FORMATS)("%s", (format) => {
  const parser = parserOf(format);
  const texts = SEEDS.filter((seed) => seed.format === format).map(({ text }) => text);

  it("reads any text alike in pieces, and loses no call", () => {
    const options = fc.record({
      strict: fc.boolean(),
      finishReason: fc.constantFrom("stop" as const, "stop" as const, "length" as const),
    });
    fc.assert(
      fc.property(
        garbledTexts(texts),
        options,
        fc.array(fc.integer({ min: 1, max: 21 }), { minLength: 1, maxLength: 5 }),
        (text, given, sizes) => {
          const whole = parser.parse(text, given);
          const { answer, deltas } = feed(parser, cutInPieces(text, sizes), given);
          same(answer, whole);
          if (given.finishReason === "length") same(answer.calls, []);
          else same(joined(deltas), whole);
          for (const call of answer.calls) {
            if (call.name === "" || (given.strict && call.repaired)) throw new Error(`accepted ${call.name}`);
          }
          if (SURE_SIGNS[format]?.test(text) && !REASONING.test(text)) {
            if (answer.calls.length + answer.errors.length === 0) throw new Error("a call is lost");
          }
        },
      ),
      { numRuns: RUNS },
    );
  });

  it("runs no call of the next turn, however this one breaks off", () => {
    const next = NEXT_TURNS[format];
    if (next === undefined) return;
    fc.assert(
      fc.property(garbledTexts(texts), (text) => {
        if (REASONING.test(text)) return;
        const late = parser.parse(text + next).calls.filter(({ name }) => name === "late");
        same(late, []);
      }),
      { numRuns: RUNS },
    );
  });

  it("leaves text without any mark as it is", () => {
    const plain = fc
      .string({ unit: "grapheme" })
      .filter((text) => !/[<[{`]/.test(text) && !text.trimStart().startsWith("to="));
    fc.assert(
      fc.property(plain, (text) => {
        expect(parser.parse(text)).toEqual({ content: text, reasoning: "", calls: [], errors: [] });
      }),
      { numRuns: 50 },
    );
  });
});
