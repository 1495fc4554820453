import { describe, expect, it } from "@jest/globals";
import type { RewardScore } from "../../core/reward/reward-manager.ts";
import { geo3k } from "../../plugins/reward-score/geo3k.ts";
import { gsm8k } from "../../plugins/reward-score/gsm8k.ts";
import { mathDapo } from "../../plugins/reward-score/math-dapo.ts";
import { mathReward } from "../../plugins/reward-score/math-reward.ts";
import { primeMath } from "../../plugins/reward-score/prime-math.ts";
import { scored, STRICT } from "./score.ts";

/** Answers that people reported as wrongly graded, by the number of the case. */
interface Case {
  id: string;
  answer: string;
  truth: string;
  /** Right, as strict mode says. */
  right: boolean;
  extracted?: string | null;
  /** Scorers whose verl mode says otherwise, as verl does. */
  verlSaysOtherwise?: readonly RewardScore[];
}

const boxed = (text: string): string => `so \\boxed{${text}} holds`;
const HALVES = ["\\frac12", "\\dfrac{1}{2}", "\\tfrac12", "1/2", "0.5"];

const GSM8K: Case[] = [
  {
    id: "31",
    answer: `6*7=42\n#### 42\n${"Checked again. ".repeat(30)}`,
    truth: "42",
    right: true,
    extracted: "42",
    verlSaysOtherwise: [gsm8k],
  },
  ...["$1,800.", "1,800."].map((said, index) => ({
    id: `33${"ab"[index]}`,
    answer: `profit\n#### ${said}`,
    truth: "1800",
    right: true,
    extracted: "1800",
    verlSaysOtherwise: [gsm8k],
  })),
];

/** All with a box. verl's DAPO scorer sees none of them: it wants `Answer:`. */
const MATHS: Case[] = [
  { id: "35a", answer: boxed("\\frac{1}{2}"), truth: "\\frac{1}{2}", right: true, extracted: "\\frac{1}{2}" },
  { id: "35b", answer: boxed("\\frac{1}{2}"), truth: "\\frac{1}{3}", right: false, extracted: "\\frac{1}{2}" },
  {
    id: "36",
    answer: "So the result is \\fbox{\\frac{3}{4}}.",
    truth: "\\frac{3}{4}",
    right: true,
    extracted: "\\frac{3}{4}",
    verlSaysOtherwise: [mathReward],
  },
  { id: "38", answer: "gives \\boxed{\\frac{1}{2", truth: "\\frac{1}{2}", right: false, extracted: null },
  ...HALVES.map((said) => ({ id: `40 ${said}`, answer: boxed(said), truth: "\\frac{1}{2}", right: true })),
  { id: "40 interval", answer: boxed("(-\\infty,-\\frac 12)"), truth: "(-\\infty,-\\frac{1}{2})", right: true },
  { id: "40 end", answer: boxed("\\frac"), truth: "\\frac{1}{2}", right: false },
  {
    id: "41a",
    answer: "answer \\boxed{840}., then **Final Answer** \\boxed{840}",
    truth: "840",
    right: true,
    extracted: "840",
  },
  {
    id: "41b",
    answer: "the sum is 2,552,004 so \\boxed{004}",
    truth: "4",
    right: true,
    extracted: "004",
    verlSaysOtherwise: [mathReward],
  },
  { id: "41c", answer: boxed("2,552,004"), truth: "2552004", right: true, verlSaysOtherwise: [mathReward] },
  { id: "43a", answer: boxed("7.41\\%"), truth: "7.41\\%", right: true },
  {
    id: "43b",
    answer: boxed("7.41\\%"),
    truth: "7.41",
    right: false,
    verlSaysOtherwise: [mathReward, primeMath, geo3k],
  },
  { id: "43c", answer: boxed("7.41\\%"), truth: "0.0741", right: false },
  ...(
    [
      ["1 - \\frac{1}{e}", "1 + \\frac{1}{e}"],
      ["\\frac{1}{2^{99}}", "\\frac{1}{2^{98}}"],
      ["\\pm 2021", "2021"],
      ["3x-y+13=0", "3x+4y+14=0"],
      ["n=2,3,4", "n=1,2,3"],
    ] as const
  ).map(([truth, said]) => ({ id: `45 ${truth}`, answer: boxed(said), truth, right: false })),
];

const SCORERS: readonly (readonly [string, RewardScore, Case[]])[] = [
  ["gsm8k", gsm8k, GSM8K],
  ["math_reward", mathReward, MATHS],
  ["prime_math", primeMath, MATHS],
  ["geo3k", geo3k, MATHS],
  ["math_dapo", mathDapo, MATHS],
];

describe.each(SCORERS)("%s", (_, scorer, cases) => {
  it.each(cases)("case $id, strict", async ({ answer, truth, right, extracted }) => {
    const result = await scored(scorer, answer, truth, STRICT);
    expect(result).toMatchObject({ acc: right, ...(extracted !== undefined && { extracted }) });
  });

  it.each(cases)("case $id, as verl", async ({ answer, truth, right, verlSaysOtherwise = [] }) => {
    const verlSays = scorer === mathDapo ? false : right !== verlSaysOtherwise.includes(scorer);
    expect(await scored(scorer, answer, truth)).toMatchObject({ acc: verlSays });
  });
});

it("case 38: the reason is the open box", async () => {
  for (const scorer of [mathReward, primeMath, geo3k, mathDapo]) {
    const { matched_rule } = await scored(scorer, "gives \\boxed{\\frac{1}{2", "\\frac{1}{2}", STRICT);
    expect(matched_rule).toBe("unclosed_box");
  }
});

it("case 41: the sign of a number with commas is no reason to keep them", async () => {
  expect(await scored(mathDapo, "Answer: 2,552,004", "2552004")).toMatchObject({ score: 1 });
  expect(await scored(mathDapo, "Answer: -1,234", "-1234", STRICT)).toMatchObject({ score: 1 });
  expect(await scored(mathDapo, "Answer: -1,234", "-1234")).toMatchObject({ score: -1 });
});

it("case 43c: a hundredth is right with the option for it, in either mode", async () => {
  for (const options of [{ percent: true }, { ...STRICT, percent: true }])
    expect(await scored(primeMath, boxed("7.41\\%"), "0.0741", options)).toMatchObject({ score: 1 });
});
