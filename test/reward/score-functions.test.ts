import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import { callScore } from "../../core/reward/score-call.ts";
import { loadScoreFunctions, thrownAt, type CustomRewardFunction } from "../../core/reward/score-functions.ts";
import { registerRewardScore } from "../../core/registry/register.ts";
import { errorOf, folderWith } from "../data/helpers.ts";

const FOLDER = join(import.meta.dirname, "fixtures");
const custom = (path: string | null, more: Partial<CustomRewardFunction> = {}): CustomRewardFunction => ({
  path,
  name: "compute_score",
  reward_kwargs: {},
  ...more,
});
const INPUT = { data_source: "s", solution_str: "ab", ground_truth: "ab", extra_info: {} };

describe("loadScoreFunctions", () => {
  it("loads a TypeScript file relative to the given folder, for every data source", async () => {
    const functions = await loadScoreFunctions(custom("score.ts"), FOLDER);
    expect(functions.get("anything")(INPUT)).toBe(1);
    expect(functions.get("anything")({ ...INPUT, ground_truth: "ba" })).toBe(0);
  });

  it("lets reward_kwargs win over the call's own arguments", async () => {
    const functions = await loadScoreFunctions(
      custom("score.ts", { reward_kwargs: { ground_truth: "other" } }),
      FOLDER,
    );
    expect(functions.get("s")(INPUT)).toBe(0);
  });

  it("looks registered functions up by data source", async () => {
    registerRewardScore("test-data-source", { description: "Scores with three.", score: () => 3 });
    const functions = await loadScoreFunctions(custom(null), FOLDER);
    expect(functions.get("test-data-source")(INPUT)).toBe(3);
    const error = await errorOf(() => functions.get("nobody"));
    expect(error.code).toBe("VERL_REWARD_NO_FUNCTION");
    expect(error.message).toContain('"nobody"');
    expect(error.hint).toContain("test-data-source");
  });

  it("names the registered function that throws, and its package", async () => {
    const score = (): never => {
      throw new Error("no network");
    };
    registerRewardScore("test-throwing", { description: "Throws.", score }, { source: "verl-plugin-x@1.0.0" });
    const functions = await loadScoreFunctions(custom(null), FOLDER);
    const { rewards } = await callScore(functions, { of: 0, input: { ...INPUT, data_source: "test-throwing" } }, 1);
    expect(rewards[0]).toMatchObject({
      unscored: expect.stringContaining('The score function "test-throwing" of verl-plugin-x@1.0.0 failed: no network'),
    });
  });

  it("names a file that does not exist", async () => {
    const error = await errorOf(() => loadScoreFunctions(custom("gone.ts"), FOLDER));
    expect(error).toMatchObject({ code: "VERL_REWARD_FUNCTION_FILE", location: { file: join(FOLDER, "gone.ts") } });
  });

  it("says why a file does not load", async () => {
    const folder = folderWith({
      "package.json": '{ "type": "module" }',
      "broken.js": "export const compute_score = (;",
    });
    const broken = await errorOf(() => loadScoreFunctions(custom("broken.js"), folder));
    expect(broken).toMatchObject({ code: "VERL_REWARD_FUNCTION_FILE", location: { file: join(folder, "broken.js") } });
    expect(broken.message).toMatch(/does not load: .*[Uu]nexpected/s);
    const throwing = await errorOf(() => loadScoreFunctions(custom("throws.js"), FOLDER));
    expect(throwing).toMatchObject({ code: "VERL_REWARD_FUNCTION_FILE", location: { line: 2 } });
    expect(throwing.message).toContain("no network");
  });

  it.each([
    ["compute_scores", "Did you mean custom_reward_function.name=compute_score?", "exports no"],
    ["threshold", "compute_score, threshold", "is no function"],
  ])("lists the exports when %s is no function", async (name, hint, message) => {
    const error = await errorOf(() => loadScoreFunctions(custom("score.ts", { name }), FOLDER));
    expect(error.code).toBe("VERL_REWARD_FUNCTION_EXPORT");
    expect(error.hint).toContain(hint);
    expect(error.message).toContain(message);
  });
});

describe("where a score function threw", () => {
  it("is its file, with the line where the stack tells it", async () => {
    const folder = folderWith({ "reward.mjs": "export function compute_score() {\n  throw new TypeError('x');\n}\n" });
    const file = join(folder, "reward.mjs");
    const functions = await loadScoreFunctions({ path: file, name: "compute_score", reward_kwargs: {} }, ".");
    const input = { data_source: "s", solution_str: "", ground_truth: null, extra_info: {} };
    const error = await errorOf(() => functions.get("s")(input));
    expect(thrownAt(functions, error)).toMatch(/^ \(.*reward\.mjs:2:\d+\)$/);
    expect(thrownAt(functions, new TypeError("from elsewhere"))).toBe(` (${file})`);
    expect(thrownAt({ get: (source) => functions.get(source) }, error)).toBe("");
  });
});
