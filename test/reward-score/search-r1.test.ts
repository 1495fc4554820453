import { describe, expect, it } from "@jest/globals";
import { searchR1 } from "../../plugins/reward-score/search-r1.ts";
import { scored, STRICT } from "./score.ts";

const tagged = (...answers: string[]): string => answers.map((answer) => `<answer>${answer}</answer>`).join(" then ");
const many = (count: number): string => tagged(...Array<string>(count).fill("Paris"));

describe("search_r1, as verl", () => {
  // Exact match and substring, found by running verl's own scorer.
  it.each([
    [tagged("The Beatles"), ["beatles"], 1, 1],
    [tagged("Rome", " Paris! "), "paris", 1, 1],
    [tagged("Rome"), "paris", 0, 0],
    ["Paris", "paris", 0, 0],
    [many(11), "paris", 0.25, 1],
    [many(10), "paris", 1, 1],
    [tagged("in Paris, France"), ["rome", "paris"], 0, 1],
    [`<answer>a <answer>${"</answer>"}`, "a answer", 1, 1],
  ])("%j against %j", async (text, target, exact, substring) => {
    expect(await scored(searchR1, text, { target })).toMatchObject({ score: exact });
    expect(await scored(searchR1, text, { target }, { match: "substring" })).toMatchObject({ score: substring });
  });

  it("gives format_score to a wrong answer in tags, and to no other", async () => {
    const options = { format_score: 0.2, score: 2 };
    expect(await scored(searchR1, tagged("x"), { target: "y" }, options)).toMatchObject({ score: 0.2, extracted: "x" });
    expect(await scored(searchR1, "x", { target: "y" }, options)).toMatchObject({ score: 0, extracted: null });
    expect(await scored(searchR1, tagged("y"), { target: "y" }, options)).toMatchObject({ score: 2 });
  });
});

describe("search_r1, strict", () => {
  it("takes the innermost last tags, whole words, and no empty target", async () => {
    const substring = { ...STRICT, match: "substring" };
    expect(await scored(searchR1, "<answer>so <answer>Paris</answer>", { target: "Paris" }, STRICT)).toMatchObject({
      score: 1,
      extracted: "Paris",
    });
    expect(await scored(searchR1, tagged("a cartoon"), { target: "art" }, substring)).toMatchObject({ score: 0 });
    expect(await scored(searchR1, tagged("modern art"), { target: "art" }, substring)).toMatchObject({ score: 1 });
    expect(await scored(searchR1, tagged("x"), { target: "the" }, substring)).toMatchObject({ score: 0 });
  });
});

it("names a ground truth that it cannot use", async () => {
  await expect(async () => scored(searchR1, tagged("x"), { target: [1] })).rejects.toThrow("{ target }");
});
