import { beforeEach, describe, expect, it } from "@jest/globals";
import type { EntryMeta } from "../../core/registry/entry.ts";
import { registries } from "../../core/registry/index.ts";
import { clearRegistries, estimator, failure } from "./helpers.ts";

beforeEach(clearRegistries);

const register = (entry: unknown) =>
  registries.adv_estimator.register("mine", entry as never, { source: "verl-plugin-x@1.0.0" });

describe("an entry", () => {
  it.each<[string, unknown, string]>([
    ["is no object", "grpo", "is string, not an object"],
    ["is null", null, "is null, not an object"],
    ["has no description", { ...estimator(), description: " " }, "has no `description`"],
    ["has no compute", { description: "x" }, "has no function `compute`"],
    ["misspells a field", { ...estimator(), require: ["values"] }, 'has `require`; did you mean "requires"'],
    ["has aliases that are no list", { ...estimator(), aliases: "m" }, "has `aliases` that is not an array of keys"],
    [
      "has requires of a wrong type",
      { ...estimator(), requires: [1] },
      "has `requires` that is not an array of batch fields",
    ],
    [
      "has metrics without meaning",
      { ...estimator(), metrics: { "actor/x": 1 } },
      "has `metrics` that is not an object",
    ],
  ])("that %s is refused, and its plugin named", async (_, entry, words) => {
    const error = await failure(() => register(entry));
    expect(error.code).toBe("VERL_ENTRY_META_INVALID");
    expect(error.message).toContain(`The advantage estimator "mine" of verl-plugin-x@1.0.0 ${words}`);
    expect(error.location).toEqual({ plugin: "verl-plugin-x@1.0.0" });
    expect(registries.adv_estimator.keys()).toEqual([]);
  });

  it("may have fields of its own", () => {
    register({ ...estimator(), needsGroups: true });
    expect(registries.adv_estimator.has("mine")).toBe(true);
  });
});

describe("an options schema", () => {
  const option = (property: object, more: object = {}) => ({
    type: "object",
    additionalProperties: false,
    properties: { eps: property },
    ...more,
  });

  it.each<[string, object, string]>([
    ["is not of type object", { type: "array", additionalProperties: false }, '`type` must be "object"'],
    ["takes anything", { type: "object" }, "`additionalProperties` must be false"],
    ["lacks a description", option({ type: "number", default: 1 }), "`eps` has no description"],
    ["lacks a default", option({ type: "number", description: "x" }), "`eps` has no default and is not required"],
    ["does not compile", option({ type: "numbre", description: "x", default: 1 }), "schema is invalid"],
    [
      "holds a keyword that means nothing",
      option({ type: "number", description: "x", default: 1, min: 0 }),
      'unknown keyword: "min"',
    ],
    [
      "has a default outside of itself",
      option({ type: "number", minimum: 2, description: "x", default: 1 }),
      "the default of `eps` must be >= 2",
    ],
  ])("that %s is refused, and its plugin named", async (_, optionsSchema, words) => {
    const error = await failure(() => register(estimator({ optionsSchema })));
    expect(error.code).toBe("VERL_ENTRY_SCHEMA_INVALID");
    expect(error.message).toContain(words);
    expect(error.message).toContain("verl-plugin-x@1.0.0");
  });

  it("may require an option, and carry text for editors", () => {
    const property = { type: "number", description: "x", markdownDescription: "*x*" };
    register(estimator({ optionsSchema: option(property, { required: ["eps"] }) } as Partial<EntryMeta>));
    expect(registries.adv_estimator.has("mine")).toBe(true);
  });
});
