import { describe, expect, it } from "@jest/globals";
import { mathReward } from "../../plugins/reward-score/math-reward.ts";
import { primeMath } from "../../plugins/reward-score/prime-math.ts";
import { scored, STRICT } from "./score.ts";

describe("math_reward, as verl", () => {
  // Found by running verl's own scorer.
  it.each([
    ["\\boxed{\\frac{1}{2}}", "0.5", 1],
    ["\\boxed{\\frac12}", "\\frac{1}{2}", 1],
    ["\\boxed{1/2}", "\\frac{1}{2}", 1],
    ["\\boxed{x=5}", "5", 1],
    ["\\boxed{5\\text{ cm}}", "5", 1],
    ["\\boxed{50\\%}", "50", 1],
    ["\\boxed 7$", "7", 1],
    ["\\fbox{9}", "9", 0],
    ["\\boxed{1,000}", "1000", 0],
    ["\\boxed{a}\\boxed{b}", "b", 1],
    ["\\boxed{\\sqrt3}", "\\sqrt{3}", 1],
    ["\\boxed{.5}", "0.5", 1],
    ["the answer is 5", "5", 0],
    ["\\boxed{{1}}", "1", 0],
    ["\\boxed{\\dfrac{3}{4}}", "\\frac{3}{4}", 1],
    ["\\boxed{10^\\circ}", "10", 1],
    ["\\boxed{(1, 2)}", "(1,2)", 1],
    ["\\boxed{\\$5}", "5", 1],
    ["\\boxed{5", "5", 0],
    ["\\boxed{\\frac}", "\\frac{1}{2}", 0],
    ["\\boxed{7.41\\%}", "7.41", 1],
    ["\\boxed{7.41\\%}", "0.0741", 0],
  ])("%s against %s", async (text, truth, score) => {
    expect(await scored(mathReward, text, truth)).toMatchObject({ score });
  });
});

/** What is right, whichever scorer is asked: prediction, gold. */
const SAME = [
  ["\\frac{1}{2}", "\\frac{1}{2}"],
  ["\\frac12", "\\frac{1}{2}"],
  ["\\dfrac{1}{2}", "\\frac{1}{2}"],
  ["\\tfrac12", "\\frac{1}{2}"],
  ["1/2", "\\frac{1}{2}"],
  ["0.5", "\\frac{1}{2}"],
  ["(-\\infty,-\\frac 12)", "(-\\infty,-\\frac{1}{2})"],
  ["840", "840"],
  ["004", "4"],
  ["2,552,004", "2552004"],
  ["-1,234", "-1234"],
  ["7.41\\%", "7.41\\%"],
  ["x=5", "5"],
  ["5\\text{ cm}", "5"],
  ["3\\frac{1}{2}", "7/2"],
  ["1 1/2", "\\frac{3}{2}"],
  ["\\sqrt[3]{8}", "2"],
  ["\\sqrt{12}", "2\\sqrt{3}"],
  ["\\text{Monday}", "monday"],
  ["**42**", "42"],
  ["\\text{42}", "42"],
  ["(x+1)^2", "x^2+2x+1"],
  ["\\sin^2 x + \\cos^2 x", "1"],
  ["\\log_2 8", "3"],
  ["|-3|", "3"],
  ["5!", "120"],
  ["\\binom{5}{2}", "10"],
  ["\\left(0, \\frac{\\pi}{2}\\right]", "(0,\\pi/2]"],
  ["\\{1, 2, 3\\}", "\\{3,2,1\\}"],
  ["(-\\infty,0)\\cup(1,2)", "(1,2) \\cup (-\\infty,0)"],
  ["\\begin{pmatrix} 1 & 2 \\\\ 3 & 0.5 \\end{pmatrix}", "\\begin{bmatrix}1&2\\\\3&\\frac12\\end{bmatrix}"],
  ["3x-y+13=0", "y=3x+13"],
  ["x > 3", "3 < x"],
  ["x \\in [0,1]", "[0,1]"],
  ["1, 2", "1,2"],
  ["x = 1 \\text{ or } x = 2", "x=1, x=2"],
  ["10^{-3}", "0.001"],
  ["2^{100}", "1267650600228229401496703205376"],
  ["1 \\pm \\sqrt{2}", "1 \\mp \\sqrt{2}"],
  ["\\pm 3", "-3, 3"],
  ["1 \\pm \\sqrt{2}", "\\{1-\\sqrt2, 1+\\sqrt2\\}"],
  ["\\sqrt[3]2", "\\sqrt[3]{2}"],
  ["\\sqrt[3]{2}", "2^{1/3}"],
  ["\\textbf{42}", "42"],
  ["\\mathbf{42}", "42"],
  ["**\\text{42}**", "42"],
  ["`42`", "42"],
  ["\\text{(B)}", "B"],
  ["\\text{Yes}", "yes"],
  ["\\text{No solution}", "no solution"],
  ["\\text{5 cm}", "5"],
  ["50 percent", "50\\%"],
  ["\\infty", "infinity"],
  ["\\varnothing", "\\emptyset"],
  ["\\dbinom{5}{2}", "10"],
  ["1\\,000\\,000", "1000000"],
  ["12\\!000", "12{,}000"],
] as const;

const DIFFERENT = [
  ["\\frac{1}{3}", "\\frac{1}{2}"],
  ["1 + \\frac{1}{e}", "1 - \\frac{1}{e}"],
  ["\\frac{1}{2^{98}}", "\\frac{1}{2^{99}}"],
  ["2021", "\\pm 2021"],
  ["3x+4y+14=0", "3x-y+13=0"],
  ["n=1,2,3", "n=2,3,4"],
  ["7.41\\%", "0.0741"],
  ["7.41\\%", "7.41"],
  ["\\frac", "\\frac{1}{2}"],
  ["0.333", "\\frac{1}{3}"],
  ["(0,1]", "(0,1)"],
  ["(1,2)", "(2,1)"],
  ["5\\text{ m}", "5\\text{ cm}"],
  ["\\sqrt{x^2}", "x"],
  ["12345678901234567890", "12345678901234567891"],
  ["1,2", "12"],
  ["x > 3", "x \\ge 3"],
  ["\\text{east}", "\\text{seat}"],
  ["x=5", "y=5"],
  ["101_2", "101"],
  ["", "0"],
  ["\\sqrt[3]{2}", "\\sqrt{2}"],
  ["\\pm 3", "3, 3"],
  ["\\pm 3", "(-3, 3)"],
  ["\\pm 3", "-3"],
  ["A", "a"],
  ["\\text{yes}", "no"],
  ["1\\,00", "100"],
] as const;

describe.each([
  ["math_reward", mathReward],
  ["prime_math", primeMath],
])("%s, strict", (_, entry) => {
  it.each(SAME)("%s is %s", async (prediction, truth) => {
    expect(await scored(entry, `So \\boxed{${prediction}}.`, truth, STRICT)).toMatchObject({ score: 1 });
  });

  it.each(DIFFERENT)("%s is not %s", async (prediction, truth) => {
    expect(await scored(entry, `So \\boxed{${prediction}}.`, truth, STRICT)).toMatchObject({ score: 0 });
  });

  it("finds the last box, whole", async () => {
    const said = async (text: string): Promise<unknown> => (await scored(entry, text, "x", STRICT)).extracted;
    expect(await said("so \\boxed{\\frac{1}{2}} holds")).toBe("\\frac{1}{2}");
    expect(await said("So the result is \\fbox{\\frac{3}{4}}.")).toBe("\\frac{3}{4}");
    expect(await said("answer \\boxed{840}., then **Final Answer** \\boxed{840}")).toBe("840");
    expect(await said("the sum is 2,552,004 so \\boxed{004}")).toBe("004");
    expect(await said("$\\boxed 7$")).toBe("7");
    expect(await said("\\boxed {\\{1\\}}")).toBe("\\{1\\}");
    expect(await said("**\\boxed{2}**")).toBe("2");
    expect(await said("\\boxed 2")).toBe("2");
    expect(await said("\\boxed2$")).toBe("2");
  });

  it("takes a box that never closes for no answer", async () => {
    expect(await scored(entry, "gives \\boxed{\\frac{1}{2", "\\frac{1}{2}", STRICT)).toMatchObject({
      score: 0,
      extracted: null,
      matched_rule: "unclosed_box",
    });
  });
});

describe("prime_math, as verl", () => {
  it.each([
    ["\\boxed{7.41\\%}", "7.41"],
    ["The answer is 12 meters. ", "12"],
    ["we get x = \\sqrt{8}", "2\\sqrt{2}"],
    ["\\boxed{3.14159}", "3.1416"],
    ["\\boxed{(1, 2]}", "(1,2]"],
    ["\\boxed{\\begin{pmatrix}1\\\\2\\end{pmatrix}}", "\\begin{pmatrix} 1 \\\\ 2 \\end{pmatrix}"],
    ["1,000 is the answer", "1000"],
  ])("%j is %s", async (text, truth) => {
    expect(await scored(primeMath, text, truth)).toMatchObject({ score: 1 });
  });

  it.each([
    // Fractions must be in the same terms, and a whole number is asked for as one.
    ["\\boxed{\\frac{2}{4}}", "\\frac{1}{2}"],
    ["\\boxed{\\frac{4}{2}}", "2"],
    ["the answer is 3 million", "3000000"],
    ["\\boxed{(1,2)}", "[1,2]"],
    ["\\boxed{3.15}", "3.14"],
    ["\\boxed{1 + \\frac{1}{e}}", "1 - \\frac{1}{e}"],
    ["\\boxed{}", "0"],
  ])("%j is not %s", async (text, truth) => {
    expect(await scored(primeMath, text, truth)).toMatchObject({ score: 0 });
  });
});

it("prime_math takes a hundredth for the number where it is told to", async () => {
  const percent = { ...STRICT, percent: true };
  expect(await scored(primeMath, "\\boxed{7.41\\%}", "0.0741", percent)).toMatchObject({
    score: 1,
    matched_rule: "percent",
  });
  expect(await scored(primeMath, "\\boxed{741}", "0.0741", percent)).toMatchObject({ score: 0 });
});

describe("prime_math, strict, without a box", () => {
  it.each([
    ["The answer is 12.", "12"],
    ["the final answer is: **12**", "12"],
    ["**Answer:** 12", "12"],
    ["**Answer**: \\(12\\)", "12"],
    ["Answer:\n12\nas asked", "12"],
    ["The answer is 3.5. It is more than 3.", "3.5"],
    ["First the answer is 1. No, the answer is 2.", "2"],
    ["The answer is Dr. Smith", "Dr. Smith"],
  ])("%j is %s", async (text, truth) => {
    expect(await scored(primeMath, text, truth, STRICT)).toMatchObject({ score: 1, extracted_by: "answer_mark" });
  });
});

it.each([mathReward, primeMath])(
  "answer and ground truth are named, so that they cannot change places",
  ({ score }) => {
    const byPlace = score as unknown as (answer: string, truth: string) => Promise<unknown>;
    return expect(byPlace("\\boxed{1}", "1")).rejects.toThrow(TypeError);
  },
);

it("says which rule made two answers one", async () => {
  const rule = async (prediction: string, truth: string): Promise<unknown> =>
    (await scored(mathReward, `\\boxed{${prediction}}`, truth, STRICT)).matched_rule;
  expect(await rule("7", "7")).toBe("equal_text");
  expect(await rule("0.5", "1/2")).toBe("equal_number");
  expect(await rule("x x", "x^2")).toBe("sampled");
  expect(await rule("(1,2)", "(1, 2)")).toBe("elementwise");
  expect(await rule("1", "2")).toBe("different");
});
