import { beforeAll, describe, expect, it } from "@jest/globals";
import { BUILT_IN_PLUGIN, loadPlugin, registries } from "../../core/registry/index.ts";
import { loadScoreFunctions, type CustomRewardFunction } from "../../core/reward/score-functions.ts";
import { errorOf } from "../data/helpers.ts";

const load = (more: Partial<CustomRewardFunction> = {}): ReturnType<typeof loadScoreFunctions> =>
  loadScoreFunctions({ path: null, name: "compute_score", reward_kwargs: {}, ...more }, ".");
const input = (data_source: string, solution_str: string, ground_truth: unknown) => ({
  data_source,
  solution_str,
  ground_truth,
  extra_info: {},
});

beforeAll(() => loadPlugin(BUILT_IN_PLUGIN));

describe("data_source", () => {
  it.each([
    ["openai/gsm8k", "#### 1", "1", "hash_marks"],
    ["lighteval/MATH", "\\boxed{1}", "1", "boxed"],
    ["DigitalLearningGmbH/MATH-lighteval", "\\boxed{1}", "1", "boxed"],
    ["HuggingFaceH4/MATH-500", "\\boxed{1}", "1", "boxed"],
    ["math_dapo", "Answer: 1", "1", "answer_line"],
    ["math", "Answer: 1", "1", "answer_line"],
    ["math_dapo_reasoning", "Answer: 1", "1", "answer_line"],
    ["aime2024", "Answer: 1", "1", "answer_line"],
    ["numina_olympiads", "Answer: 1", "1", "answer_mark"],
    ["searchR1_2wikimultihopqa", "<answer>1</answer>", { target: "1" }, "answer_tags"],
  ])("%s leads to the function that verl takes", async (source, text, truth, by) => {
    const score = (await load()).get(source);
    expect(await score(input(source, text, truth))).toMatchObject({ score: 1, extracted_by: by });
  });

  it("geometry and code have theirs too", () => {
    const keyOf = (source: string): string => registries.reward_score.find(source).key;
    expect(keyOf("hiyouga/geometry3k")).toBe("geo3k");
    expect(["codecontests", "apps", "codeforces", "taco"].map(keyOf)).toEqual(Array(4).fill("sandbox_fusion"));
    expect(
      ["nq", "triviaqa", "popqa", "hotpotqa", "musique", "bamboogle"].map((name) => keyOf(`searchR1_${name}`)),
    ).toEqual(Array(6).fill("search_r1"));
    expect(
      ["aops_forum", "synthetic_math", "amc_aime", "synthetic_amc", "cn_k12"].map((name) => keyOf(`numina_${name}`)),
    ).toEqual(Array(5).fill("prime_math"));
  });

  it("prefixes end where another name begins", async () => {
    const error = await errorOf(async () => (await load()).get("my_aime"));
    expect(error.code).toBe("VERL_REWARD_NO_FUNCTION");
    expect(error.hint).toContain("custom_reward_function.name to one that is registered");
  });
});

describe("custom_reward_function without a file", () => {
  it("names one function for all rows", async () => {
    const score = (await load({ name: "math_reward", reward_kwargs: { mode: "strict" } })).get("anything");
    expect(await score(input("anything", "\\fbox{9.0}", "9"))).toMatchObject({ score: 1 });
  });

  it("says which names there are", async () => {
    const error = await errorOf(() => load({ name: "math_rewards" }));
    expect(error).toMatchObject({
      code: "VERL_REGISTRY_KEY_UNKNOWN",
      location: { path: "custom_reward_function.name" },
    });
    expect(error.hint).toContain("math_reward");
  });

  it("gives each function its own of the options, and refuses one that no function has", async () => {
    const functions = await load({ reward_kwargs: { mode: "strict", method: "flexible", use_boxed: false } });
    expect(await functions.get("openai/gsm8k")(input("s", "so 7.0", "7"))).toMatchObject({ score: 1 });
    expect(await functions.get("lighteval/MATH")(input("s", "\\boxed{1}", "1"))).toMatchObject({ score: 1 });
    const error = await errorOf(async () => (await load({ reward_kwargs: { mod: "strict" } })).get("openai/gsm8k"));
    expect(error.code).toBe("VERL_OPTIONS_INVALID");
    expect(error.message).toContain('Did you mean "mode"');
  });

  it("asks for the sandbox before anything is scored", async () => {
    const error = await errorOf(async () => (await load()).get("apps"));
    expect(error.code).toBe("VERL_OPTIONS_INVALID");
    expect(error.message).toContain("`sandbox_fusion_url`");
  });
});
