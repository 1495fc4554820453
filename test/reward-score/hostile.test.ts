import { describe, expect, it } from "@jest/globals";
import { rewardScores } from "../../plugins/reward-score/index.ts";
import { scored, STRICT } from "./score.ts";

const MEGABYTE = 2 ** 20;
const filled = (piece: string): string => piece.repeat(Math.ceil(MEGABYTE / piece.length)).slice(0, MEGABYTE);

/** What makes naive patterns and scanners take time squared, or more. */
const TEXTS = [
  "a",
  " ",
  "\n",
  "{",
  "}",
  "9",
  ",",
  "1,",
  "-",
  "$",
  "#### ",
  "#### -",
  "Answer",
  "Answer: ",
  "Answer:\n",
  "answer is ",
  "= ",
  ". ",
  "\\boxed",
  "\\boxed{",
  "\\boxed ",
  "\\frac",
  "\\text{",
  "\\left(",
  "((",
  "2^",
  "9^9^",
  "a^-",
  "sin ",
  "|",
  "<answer>",
  "</answer>",
  "<think>",
  "the ",
  "```",
  "```python\n",
  "\\begin{pmatrix}",
  "seconds ^",
].map(filled);

const OPTIONS = [
  {},
  STRICT,
  { ...STRICT, method: "flexible", match: "substring", use_boxed: false, strict_box_verify: true },
];
const truthOf: Readonly<Record<string, unknown>> = {
  search_r1: { target: "x" },
  sandbox_fusion: { inputs: [""], outputs: [""] },
};
/** The same in all the marks of an answer. */
const marked = (text: string): string => `<answer>Answer: \\boxed{${text}}</answer>`;

describe.each(rewardScores.map(({ key, entry }) => [key, entry] as const))("%s", (key, entry) => {
  // A scanner that looks back would take hours here, and the test's own time ends it.
  it("gets through a megabyte of anything", async () => {
    for (const text of TEXTS) {
      for (const options of OPTIONS) {
        // Nothing listens there, and no program is worth a second look.
        const more = { ...options, sandbox_fusion_url: "http://127.0.0.1:9/", timeout: 1 };
        for (const answer of [text, marked(text)]) {
          const result = await scored(entry, answer, truthOf[key] ?? "12", more).catch((error: Error) => error);
          if (result instanceof Error) expect(result.message).toMatch(/the sandbox gave no result/);
          else expect(result.acc).toBe(false);
        }
      }
    }
  }, 300_000);

  it("gets through short answers that explode", async () => {
    for (const answer of [
      "9^{9^{9^9}}",
      "99999!!",
      "10^{999999999}",
      "{{{{{".repeat(100),
      "(".repeat(900),
      "x^".repeat(400),
    ]) {
      const result = await scored(entry, `\\boxed{${answer}}`, truthOf[key] ?? "7^{7^7}", {
        ...STRICT,
        sandbox_fusion_url: "http://127.0.0.1:9/",
      });
      expect(result.acc).toBe(false);
    }
  });
});
