import { expect, it } from "@jest/globals";
import type { RewardScore } from "../../core/reward/reward-manager.ts";
import { gsm8k } from "../../plugins/reward-score/gsm8k.ts";
import { mathReward } from "../../plugins/reward-score/math-reward.ts";
import { primeMath } from "../../plugins/reward-score/prime-math.ts";
import { scored, STRICT } from "./score.ts";

/** Answers that people reported as wrongly graded, by the number of the case; the right verdict is the strict mode's. */
interface Case {
  id: string;
  by: RewardScore;
  answer: string;
  truth: string;
  score: number;
  extracted?: string | null;
  options?: object;
}

const boxed = (text: string): string => `so \\boxed{${text}} holds`;
const bothMaths = (row: Omit<Case, "by">): Case[] => [mathReward, primeMath].map((by) => ({ ...row, by }));

const CASES: Case[] = [
  {
    id: "31",
    by: gsm8k,
    answer: `6*7=42\n#### 42\n${"Checked again. ".repeat(30)}`,
    truth: "42",
    score: 1,
    extracted: "42",
  },
  { id: "33a", by: gsm8k, answer: "profit\n#### $1,800.", truth: "1800", score: 1, extracted: "1800" },
  { id: "33b", by: gsm8k, answer: "profit\n#### 1,800.", truth: "1800", score: 1, extracted: "1800" },
  ...bothMaths({
    id: "35a",
    answer: boxed("\\frac{1}{2}"),
    truth: "\\frac{1}{2}",
    score: 1,
    extracted: "\\frac{1}{2}",
  }),
  ...bothMaths({ id: "35b", answer: boxed("\\frac{1}{2}"), truth: "\\frac{1}{3}", score: 0 }),
  ...bothMaths({
    id: "36",
    answer: "So the result is \\fbox{\\frac{3}{4}}.",
    truth: "\\frac{3}{4}",
    score: 1,
    extracted: "\\frac{3}{4}",
  }),
  ...bothMaths({ id: "38", answer: "gives \\boxed{\\frac{1}{2", truth: "\\frac{1}{2}", score: 0, extracted: null }),
  ...["\\frac12", "\\dfrac{1}{2}", "\\tfrac12", "1/2", "0.5"].flatMap((prediction) =>
    bothMaths({ id: `40 ${prediction}`, answer: boxed(prediction), truth: "\\frac{1}{2}", score: 1 }),
  ),
  ...bothMaths({
    id: "40 interval",
    answer: boxed("(-\\infty,-\\frac 12)"),
    truth: "(-\\infty,-\\frac{1}{2})",
    score: 1,
  }),
  ...bothMaths({ id: "40 end", answer: boxed("\\frac"), truth: "\\frac{1}{2}", score: 0 }),
  ...bothMaths({
    id: "41a",
    answer: "answer \\boxed{840}., then **Final Answer** \\boxed{840}",
    truth: "840",
    score: 1,
    extracted: "840",
  }),
  ...bothMaths({
    id: "41b",
    answer: "the sum is 2,552,004 so \\boxed{004}",
    truth: "4",
    score: 1,
    extracted: "004",
  }),
  ...bothMaths({ id: "41c", answer: boxed("2,552,004"), truth: "2552004", score: 1 }),
  ...bothMaths({ id: "43a", answer: boxed("7.41\\%"), truth: "7.41\\%", score: 1 }),
  ...bothMaths({ id: "43b", answer: boxed("7.41\\%"), truth: "7.41", score: 0 }),
  ...bothMaths({ id: "43c", answer: boxed("7.41\\%"), truth: "0.0741", score: 0 }),
  {
    id: "43c, percent",
    by: primeMath,
    answer: boxed("7.41\\%"),
    truth: "0.0741",
    score: 1,
    options: { percent: true },
  },
  ...(
    [
      ["1 - \\frac{1}{e}", "1 + \\frac{1}{e}"],
      ["\\frac{1}{2^{99}}", "\\frac{1}{2^{98}}"],
      ["\\pm 2021", "2021"],
      ["3x-y+13=0", "3x+4y+14=0"],
      ["n=2,3,4", "n=1,2,3"],
    ] as const
  ).flatMap(([truth, prediction]) => bothMaths({ id: `45 ${truth}`, answer: boxed(prediction), truth, score: 0 })),
];

it.each(CASES.map((row, at) => ({ ...row, title: `${row.id} (${at})` })))("case $title", async (row) => {
  const result = await scored(row.by, row.answer, row.truth, { ...STRICT, ...row.options });
  expect(result).toMatchObject({
    score: row.score,
    ...(row.extracted !== undefined && { extracted: row.extracted }),
  });
});

it("case 43b: verl's own verdict drops the per cent sign", async () => {
  expect(await scored(mathReward, boxed("7.41\\%"), "7.41")).toMatchObject({ score: 1 });
});

it("case 38: the reason is the open box", async () => {
  const { matched_rule } = await scored(mathReward, "gives \\boxed{\\frac{1}{2", "\\frac{1}{2}", STRICT);
  expect(matched_rule).toBe("unclosed_box");
});
