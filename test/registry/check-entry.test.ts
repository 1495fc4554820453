import { beforeEach, describe, expect, it } from "@jest/globals";
import { Interaction } from "../../core/agent/interaction.ts";
import { Tool, ToolServer } from "../../core/agent/tool.ts";
import { ToolParser } from "../../core/agent/tool-parser.ts";
import type { EntryMeta, Injectable } from "../../core/registry/entry.ts";
import {
  createRunContainer,
  KIND_NAMES,
  kindInfo,
  registries,
  type Kind,
  type Registry,
} from "../../core/registry/index.ts";
import { RewardManager } from "../../core/reward/reward-manager.ts";
import builtIns from "../../plugins/index.ts";
import { clearRegistries, estimator, failure } from "./helpers.ts";

beforeEach(clearRegistries);

const register = (entry: unknown) =>
  registries.adv_estimator.register("mine", entry as never, { source: "verl-plugin-x@1.0.0" });

describe("an entry", () => {
  it.each<[string, unknown, string, string?]>([
    ["is no object", "grpo", "is string, not an object"],
    ["is null", null, "is null, not an object"],
    ["has no description", { ...estimator(), description: " " }, "has no `description`"],
    ["has no compute", { description: "x" }, "has no function `compute`"],
    [
      "misspells a field",
      { ...estimator(), require: ["values"] },
      "has `require`, which means nothing.",
      'Did you mean "requires"? ',
    ],
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
  ])("that %s is refused, and its plugin named", async (_, entry, words, question = "") => {
    const error = await failure(() => register(entry));
    expect(error.code).toBe("VERL_ENTRY_META_INVALID");
    expect(error.hint).toBe(`${question}This is for the author of verl-plugin-x@1.0.0 to mend.`);
    expect(error.message).toContain(`The advantage estimator "mine" of verl-plugin-x@1.0.0 ${words}`);
    expect(error.location).toEqual({ plugin: "verl-plugin-x@1.0.0" });
    expect(registries.adv_estimator.keys()).toEqual([]);
  });

  it("may have fields of its own", () => {
    register({ ...estimator(), needsGroups: true });
    expect(registries.adv_estimator.has("mine")).toBe(true);
  });
});

describe("a class", () => {
  const registerClass = (kind: Kind, create: unknown) =>
    (registries[kind] as Registry).register("mine", { description: "x", create } as never, {
      source: "verl-plugin-x@1.0.0",
    });
  const CLASS_KINDS = KIND_NAMES.filter((kind) => kindInfo(kind).members.includes("create"));
  const METHODS = CLASS_KINDS.flatMap((kind) =>
    (kindInfo(kind).methods ?? []).flatMap((names) => names.map((name) => [kind, name, names] as const)),
  );

  /** A built-in class of the kind that has these methods. */
  function builtIn(kind: Kind, methods: readonly string[]): new () => object {
    const classes = builtIns.provides.flatMap(({ kind: own, entry }) =>
      own === kind ? [(entry as unknown as { create: new () => object }).create] : [],
    );
    return classes.find(({ prototype }) => methods.every((name) => name in (prototype as object)))!;
  }

  it("is what the entries of eleven kinds have, each with methods that are asked for", () => {
    expect(CLASS_KINDS).toHaveLength(11);
    expect(new Set(METHODS.map(([kind]) => kind))).toEqual(new Set(CLASS_KINDS));
  });

  it.each(METHODS)("of the kind %s without %s() is refused when it is registered", async (kind, name, all) => {
    const Whole = builtIn(kind, all);
    class Lacking {}
    for (const other of all) {
      if (other !== name) Object.defineProperty(Lacking.prototype, other, { value: () => undefined });
    }
    const error = await failure(() => registerClass(kind, Lacking));
    expect(error.code).toBe("VERL_ENTRY_META_INVALID");
    expect(error.message).toBe(`The ${kindInfo(kind).title} "mine" of verl-plugin-x@1.0.0 has no method \`${name}\`.`);
    expect(error.details).toEqual({ kind, key: "mine" });
    expect(registries[kind].keys()).toEqual([]);
    registerClass(kind, Whole);
    expect(registries[kind].keys()).toEqual(["mine"]);
  });

  it.each<[Kind, string, unknown]>([
    [
      "reward_manager",
      "no method `score`",
      class extends (RewardManager as unknown as Injectable<object>) {
        run() {
          return [{ score: 1, extra: {} }];
        }
      },
    ],
    ["tool", "no method `execute`", class extends (Tool as unknown as Injectable<object>) {}],
    [
      "tool",
      "no method `close`",
      class extends (ToolServer as unknown as Injectable<object>) {
        open() {
          return [];
        }
      },
    ],
    ["tool_parser", "no method `stream`", class extends (ToolParser as unknown as Injectable<object>) {}],
    ["interaction", "no method `respond`", class extends (Interaction as unknown as Injectable<object>) {}],
    ["tracker", "a `create` that is not a class", () => ({ log: () => undefined })],
  ])("of the kind %s that extends its base has what the base has, and %s", async (kind, words, create) => {
    const error = await failure(() => registerClass(kind, create));
    expect(error.message).toContain(`has ${words}.`);
  });

  it("may have its methods as fields, which are looked for again when it is constructed", async () => {
    class Fields {
      log = () => undefined;
    }
    registerClass("tracker", Fields);
    expect(createRunContainer().create("tracker", "mine")).toBeInstanceOf(Fields);
    class Misleading {
      close() {
        return "log";
      }
    }
    (registries.tracker as Registry).register("other", { description: "x", create: Misleading } as never);
    const error = await failure(() => createRunContainer().create("tracker", "other"));
    expect(error.code).toBe("VERL_ENTRY_META_INVALID");
    expect(error.message).toContain("has no method `log`");
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
