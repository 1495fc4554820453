import { afterEach, beforeEach, describe, expect, it, jest } from "@jest/globals";
import { freezeRegistries, registerAdvEst, registries } from "../../core/registry/index.ts";
import { RENAMED } from "../../core/registry/known-keys.ts";
import { Registry } from "../../core/registry/registry.ts";
import { clearRegistries, estimator, failure, loss } from "./helpers.ts";

const { adv_estimator: advantages, policy_loss: losses } = registries;

const undo: (() => void)[] = [];

/** Adds to a table of known keys until the test ends. */
function withRow(table: object, row: object): void {
  Object.assign(table, row);
  undo.push(() => Object.keys(row).forEach((kind) => Reflect.deleteProperty(table, kind)));
}

beforeEach(clearRegistries);
afterEach(() => undo.splice(0).forEach((reset) => reset()));
afterEach(() => void jest.restoreAllMocks());

describe("registering", () => {
  it("finds an entry by its key and its aliases", () => {
    const entry = estimator({ aliases: ["other_name"] });
    registerAdvEst("mine", entry, { source: "verl-plugin-x@1.0.0" });
    expect(advantages.resolve("mine")).toBe(entry);
    expect(advantages.get("other_name")).toBe(entry);
    expect(advantages.find("other_name")).toMatchObject({ key: "mine", source: "verl-plugin-x@1.0.0" });
    expect(advantages.keys()).toEqual(["mine"]);
    expect(advantages.entries()).toEqual([["mine", entry]]);
    expect(advantages.get("absent")).toBeUndefined();
  });

  it.each(["grpo", "token-mean", "ONE_TO_ALL", "k1.5", "acme:my_adv", "0"])("takes %s as a key", (key) => {
    registerAdvEst(key, estimator());
    expect(advantages.has(key)).toBe(true);
  });

  it.each(["", "_x", "a b", "a:b:c", "k3+", "x/y", ":a", "a:", "é", "a".repeat(200)])(
    "refuses %j as a key",
    async (key) => {
      const error = await failure(() => registerAdvEst(key, estimator(), { source: "verl-plugin-x@1.0.0" }));
      expect(error.code).toBe("VERL_REGISTRY_KEY_INVALID");
      expect(error.message).toContain("verl-plugin-x@1.0.0");
    },
  );

  it("lets an alias be a name from elsewhere, within bounds", async () => {
    registerAdvEst("plus", estimator({ aliases: ["reinforce++", "openai/gsm8k"] }));
    expect(advantages.find("openai/gsm8k").key).toBe("plus");
    const error = await failure(() => registerAdvEst("other", estimator({ aliases: ["a b"] })));
    expect(error).toMatchObject({ code: "VERL_REGISTRY_KEY_INVALID", message: expect.stringContaining('"a b"') });
  });

  it("does nothing for the same entry, and for the same class wrapped again", () => {
    const entry = estimator();
    registerAdvEst("mine", entry, { source: "a" });
    registerAdvEst("mine", entry, { source: "b" });
    expect(advantages.find("mine").source).toBe("a");

    class Loop {
      run = () => Promise.reject(new Error("never run"));
    }
    const wrapped = () => ({ description: "A loop.", create: Loop });
    registries.agent_loop.register("loop", wrapped());
    registries.agent_loop.register("loop", wrapped());
    expect(registries.agent_loop.keys()).toEqual(["loop"]);
  });

  it("refuses another entry under a taken key and names both sources", async () => {
    registerAdvEst("mine", estimator(), { source: "verl-plugin-a@1.0.0" });
    const error = await failure(() => registerAdvEst("mine", estimator(), { source: "@acme/verl-plugin-b@2.0.0" }));
    expect(error.code).toBe("VERL_REGISTRY_KEY_TAKEN");
    expect(error.message).toContain("verl-plugin-a@1.0.0");
    expect(error.message).toContain("@acme/verl-plugin-b@2.0.0");
    expect(error.hint).toContain('"acme:mine"');
  });

  it("refuses a key that is an alias, and an alias that is a key", async () => {
    registerAdvEst("mine", estimator({ aliases: ["short"] }));
    expect((await failure(() => registerAdvEst("short", estimator()))).message).toContain('an alias of "mine"');
    expect((await failure(() => registerAdvEst("new", estimator({ aliases: ["mine"] })))).code).toBe(
      "VERL_REGISTRY_KEY_TAKEN",
    );
    expect(advantages.has("new")).toBe(false);
  });

  it("lets an override replace an entry with its aliases, and says so", () => {
    const written = jest.spyOn(process.stderr, "write").mockReturnValue(true);
    const after = estimator();
    registerAdvEst("mine", estimator({ aliases: ["short"] }), { source: "a" });
    registerAdvEst("mine", after, { source: "b", override: true });
    expect(advantages.find("mine")).toMatchObject({ entry: after, source: "b", overrides: "a" });
    expect(advantages.has("short")).toBe(false);
    expect(written.mock.calls.join("")).toContain('"mine" of a is overridden by b');
  });

  it("lets an override take an alias alone", () => {
    jest.spyOn(process.stderr, "write").mockReturnValue(true);
    const [before, after] = [estimator({ aliases: ["short"] }), estimator()];
    registerAdvEst("mine", before);
    registerAdvEst("short", after, { override: true });
    expect(advantages.resolve("mine")).toBe(before);
    expect(advantages.resolve("short")).toBe(after);
  });

  it("keeps an override from taking a third entry's key as an alias", async () => {
    registerAdvEst("a", estimator());
    registerAdvEst("b", estimator());
    const error = await failure(() => registerAdvEst("a", estimator({ aliases: ["b"] }), { override: true }));
    expect(error.code).toBe("VERL_REGISTRY_KEY_TAKEN");
  });
});

it("shares its maps with every copy of the package", () => {
  const copy = new Registry("adv_estimator");
  const entry = estimator();
  copy.register("mine", entry);
  expect(advantages.resolve("mine")).toBe(entry);
});

describe("freezing", () => {
  it("refuses a late entry and tells how to be in time; the same entry again is no news", async () => {
    const entry = estimator();
    registerAdvEst("early", entry);
    const thaw = freezeRegistries("run sort-letters");
    registerAdvEst("early", entry);
    const error = await failure(() => registerAdvEst("late", estimator(), { source: "verl-plugin-x@1.0.0" }));
    expect(error.code).toBe("VERL_REGISTRY_FROZEN");
    expect(error.message).toContain("run sort-letters");
    expect(error.hint).toContain("plugins:");
    thaw();
    registerAdvEst("late", estimator());
    expect(advantages.has("late")).toBe(true);
  });

  it("lasts until the last of two runs has ended", async () => {
    const [first, second] = [freezeRegistries("one"), freezeRegistries("two")];
    first();
    first();
    expect((await failure(() => registerAdvEst("late", estimator()))).message).toContain("two");
    second();
    expect(() => registerAdvEst("late", estimator())).not.toThrow();
  });
});

describe("an unknown key", () => {
  it("is explained by the nearest key, with the place first and what there is last", async () => {
    registerAdvEst("grpo", estimator(), { source: "verl@0.1.0" });
    registerAdvEst("gae", estimator(), { source: "verl@0.1.0" });
    registerAdvEst("dapo", estimator(), { source: "verl-plugin-dapo@1.0.0" });
    const error = await failure(() => advantages.resolve("grop", { file: "run.yaml", line: 12, column: 18 }));
    expect(error).toMatchObject({
      code: "VERL_REGISTRY_KEY_UNKNOWN",
      message: 'No advantage estimator is registered as "grop".',
      location: { file: "run.yaml", line: 12, column: 18, path: "algorithm.adv_estimator" },
      hint: 'Did you mean "grpo"?\nAvailable: dapo (verl-plugin-dapo@1.0.0); gae, grpo (verl@0.1.0).',
    });
  });

  it("is explained by the kind that has it", async () => {
    registerAdvEst("grpo", estimator());
    losses.register("grpoo", loss());
    const error = await failure(() => losses.resolve("grpo"));
    expect(error.hint).toContain(
      '"grpo" is an advantage estimator, not a policy loss. Did you mean `algorithm.adv_estimator: grpo`?',
    );
  });

  it("is used with a warning if it was renamed", () => {
    const written = jest.spyOn(process.stderr, "write").mockReturnValue(true);
    const entry = estimator();
    registerAdvEst("now", entry);
    withRow(RENAMED, { adv_estimator: { once: "now" } });
    expect([advantages.resolve("once"), advantages.resolve("once")]).toEqual([entry, entry]);
    expect(written.mock.calls).toEqual([['warning: The advantage estimator "once" is called "now" now.\n']]);
  });

  it("lists twenty keys at most", async () => {
    for (let index = 10; index < 45; index++) registerAdvEst(`key_number_${index}`, estimator());
    const { hint } = await failure(() => advantages.resolve("zzz"));
    expect(hint).toContain("key_number_29");
    expect(hint).not.toContain("key_number_30");
    expect(hint).toContain("and 15 more, run `verl list adv_estimator`");
  });

  it("says so when nothing is registered at all", async () => {
    expect((await failure(() => advantages.resolve("grpo"))).hint).toContain(
      "No advantage estimator is registered at all",
    );
  });

  it.each(["__proto__", "constructor", "toString"])("is unknown even if it is %s", async (key) => {
    registerAdvEst("grpo", estimator());
    expect((await failure(() => advantages.resolve(key))).code).toBe("VERL_REGISTRY_KEY_UNKNOWN");
  });
});
