import { beforeEach, describe, expect, it } from "@jest/globals";
import type { JSONSchema7 } from "json-schema";
import { registerAdvEst, registerPolicyLoss, resolveOptions } from "../../core/registry/index.ts";
import { clearRegistries, estimator, failure, loss } from "./helpers.ts";

const schema: JSONSchema7 = {
  type: "object",
  additionalProperties: false,
  required: ["path"],
  properties: {
    path: { type: "string", description: "Where it lies." },
    alpha: { type: "number", minimum: 0, description: "Weight.", default: 0.5 },
    side: { enum: ["left", "right"], description: "Side.", default: "left" },
    nested: {
      type: "object",
      additionalProperties: false,
      description: "More.",
      default: {},
      properties: { depth: { type: "integer", description: "Depth.", default: 3 } },
    },
  },
};

beforeEach(() => {
  clearRegistries();
  registerAdvEst("mine", estimator({ optionsSchema: schema, aliases: ["short"] }));
  registerAdvEst("plain", estimator());
});

it("fills in defaults, nested ones too, and leaves what was given alone", () => {
  const given = Object.freeze({ path: "a", nested: Object.freeze({}) });
  expect(resolveOptions("adv_estimator", "short", given)).toEqual({
    path: "a",
    alpha: 0.5,
    side: "left",
    nested: { depth: 3 },
  });
  expect(given).toEqual({ path: "a", nested: {} });
});

it("takes no options where there is no schema", async () => {
  expect(resolveOptions("adv_estimator", "plain", null)).toEqual({});
  const error = await failure(() => resolveOptions("adv_estimator", "plain", { a: 1 }));
  expect(error.message).toBe('The advantage estimator "plain" has no option `a`. It takes none.');
});

it.each<[object, string, string]>([
  [
    { path: "a", aplha: 1 },
    "aplha",
    'The advantage estimator "mine" has no option `aplha`. Did you mean "alpha"? Its options are alpha, nested, path, side.',
  ],
  [{}, "path", 'The advantage estimator "mine" needs the option `path` (Where it lies).'],
  [{ path: 5 }, "path", "`path` is 5; it must be of type string."],
  [{ path: "a", alpha: -1 }, "alpha", "`alpha` is -1; it must be >= 0."],
  [{ path: "a", side: "lefft" }, "side", '`side` is "lefft"; allowed are "left", "right". Did you mean "left"?'],
  [{ path: "a", nested: { depth: 1.5 } }, "nested.depth", "`nested.depth` is 1.5; it must be of type integer."],
  [
    { path: "a", nested: { dept: 1 } },
    "nested.dept",
    'The advantage estimator "mine" has no option `nested.dept`. Did you mean "depth"? Its options are depth.',
  ],
])("of %j says what is wrong with %s", async (given, option, message) => {
  const error = await failure(() => resolveOptions("adv_estimator", "mine", given as Record<string, unknown>));
  expect(error).toMatchObject({
    code: "VERL_OPTIONS_INVALID",
    message,
    location: { path: `algorithm.adv_kwargs.${option}` },
    hint: "Run `verl info adv_estimator mine` for its options.",
  });
});

it("tells all problems at once, each with its own place", async () => {
  const lines: Record<string, number> = { path: 4, alpha: 7 };
  const error = await failure(() =>
    resolveOptions("adv_estimator", "mine", { path: 1, alpha: "x" }, (option) => ({
      file: "run.yaml",
      line: lines[option]!,
    })),
  );
  expect(error.message).toContain('2 options of the advantage estimator "mine" are not valid:');
  expect(error.details?.["problems"]).toEqual([
    expect.objectContaining({
      option: "path",
      location: { file: "run.yaml", line: 4, path: "algorithm.adv_kwargs.path" },
    }),
    expect.objectContaining({
      option: "alpha",
      location: { file: "run.yaml", line: 7, path: "algorithm.adv_kwargs.alpha" },
    }),
  ]);
});

it("leaves the selecting key and other losses' options of the shared section aside, and nothing else", async () => {
  const withOption = (option: string) =>
    loss({
      optionsSchema: {
        type: "object",
        additionalProperties: false,
        properties: { [option]: { type: "number", description: "x", default: 0.1 } },
      },
    });
  registerPolicyLoss("clip_cov", withOption("clip_cov_ratio"));
  registerPolicyLoss("kl_cov", withOption("kl_cov_ratio"));
  const section = { loss_mode: "clip_cov", clip_cov_ratio: 0.3, kl_cov_ratio: 0.4 };
  expect(resolveOptions("policy_loss", "clip_cov", section)).toEqual({ clip_cov_ratio: 0.3 });
  const error = await failure(() => resolveOptions("policy_loss", "clip_cov", { ...section, clip_kov_ratio: 1 }));
  expect(error.message).toContain('Did you mean "clip_cov_ratio"?');
});

describe("what a schema cannot say", () => {
  const numbers: JSONSchema7 = { type: "array", items: { type: "number" }, default: [], description: "Numbers." };
  const pairs = estimator({
    optionsSchema: { type: "object", additionalProperties: false, properties: { lows: numbers, highs: numbers } },
    checkOptions: ({ lows, highs }) =>
      (lows as number[]).length === (highs as number[]).length
        ? undefined
        : { option: "highs", message: "`highs` needs one number for each of `lows`." },
  });
  const resolve = (given: object) => resolveOptions("adv_estimator", "pairs", { ...given });

  it("is asked of options that the schema has found right, and told as a wrong option is", async () => {
    registerAdvEst("pairs", pairs);
    expect(resolve({ lows: [1], highs: [2] })).toEqual({ lows: [1], highs: [2] });
    const error = await failure(() => resolve({ lows: [1] }));
    expect(error).toMatchObject({
      code: "VERL_OPTIONS_INVALID",
      message: "`highs` needs one number for each of `lows`.",
    });
    expect(error.location?.path).toBe("algorithm.adv_kwargs.highs");
    expect((await failure(() => resolve({ lows: "x" }))).message).toContain("must be of type array");
  });

  it("is the plugin's fault where the check itself fails", async () => {
    const throws = () => {
      throw new Error("no such thing");
    };
    registerAdvEst("pairs", { ...pairs, checkOptions: throws });
    expect((await failure(() => resolve({}))).code).toBe("VERL_ENTRY_FAILED");
  });
});
