import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { applyOverrides, parseOverrides } from "../../core/config/apply-overrides.ts";
import { printValue } from "../../core/config/override-grammar.ts";
import { fromValue, merge, toValue, type MapNode } from "../../core/config/tree.ts";

/** The base of part G of the public reports. */
const BASE = {
  algorithm: { adv_estimator: "gae", gamma: 1.0 },
  trainer: { total_training_steps: null, total_epochs: 2, logger: ["console"] },
  data: { train_files: "a.parquet", opts: { x: 1 } },
  actor: { optim: { lr: 0.001 } },
};

function apply(...texts: string[]) {
  const { overrides, problems } = parseOverrides(texts);
  const base = fromValue(BASE, { from: "default" }) as MapNode;
  const applied = applyOverrides(base, overrides);
  return {
    value: toValue(applied.root) as typeof BASE & Record<string, unknown>,
    problems: [...problems, ...applied.problems],
  };
}

describe("overrides on a plain tree", () => {
  // Public reports, case 81.
  it("reports every unknown key, with the nearest one and the + form", () => {
    const { problems } = apply("algorithm.adv_estimater=grpo", "reward_model.reward_kwargs.n=4");
    expect(problems).toHaveLength(2);
    expect(problems[0]).toMatchObject({
      code: "VERL_CONFIG_KEY_UNKNOWN",
      message: expect.stringContaining("`algorithm.adv_estimater`"),
      hint: expect.stringContaining("Did you mean `algorithm.adv_estimator`?"),
      location: { override: "algorithm.adv_estimater=grpo" },
    });
    expect(problems[1]!.message).toBe("There is no config key `reward_model`.");
    expect(problems[1]!.hint).toContain("+reward_model.reward_kwargs.n=4");
  });

  // Public reports, cases 83 and 86.
  it("sets values with their types", () => {
    expect(
      apply(
        "trainer.total_training_steps=null",
        "trainer.total_epochs=1_000",
        "data.train_files=",
        "actor.optim.lr=1e-6",
      ),
    ).toEqual({
      problems: [],
      value: {
        ...BASE,
        trainer: { total_training_steps: null, total_epochs: 1000, logger: ["console"] },
        data: { train_files: "", opts: { x: 1 } },
        actor: { optim: { lr: 0.000001 } },
      },
    });
  });

  it("merges maps, replaces lists, reaches into lists by index", () => {
    expect(apply("data.opts={y: 2}").value.data.opts).toEqual({ x: 1, y: 2 });
    expect(apply("trainer.logger=[file]").value.trainer.logger).toEqual(["file"]);
    expect(apply("trainer.logger=[a,b]", "trainer.logger.1=c").value.trainer.logger).toEqual(["a", "c"]);
    expect(apply("trainer.logger=[a,b]", "trainer.logger[0]=c").value.trainer.logger).toEqual(["c", "b"]);
    expect(apply("+trainer.logger.5=c").problems[0]).toMatchObject({ code: "VERL_CONFIG_OVERRIDE" });
  });

  it("adds with +, and with ++ whatever is there", () => {
    expect(apply("+a.b.c=1").value["a"]).toEqual({ b: { c: 1 } });
    expect(apply("++algorithm.gamma=0.5", "++new=1").value).toMatchObject({ algorithm: { gamma: 0.5 }, new: 1 });
    expect(apply("+a=1", "+a=2").problems).toEqual([
      expect.objectContaining({
        message: "`a` exists already (override +a=1); + only adds what is not there.",
        hint: "To change it, write a=2 or ++a=2.",
      }),
    ]);
  });

  it("removes with ~, a given value only when it matches", () => {
    expect(apply("~data.opts").value.data).toEqual({ train_files: "a.parquet" });
    expect(apply("~algorithm.gamma=1").value.algorithm).toEqual({ adv_estimator: "gae" });
    expect(apply("~algorithm.gamma=2").problems[0]).toMatchObject({ message: expect.stringContaining("is 1, not 2") });
    expect(apply("~algorithm.gama").problems[0]).toMatchObject({ hint: "Did you mean `algorithm.gamma`?" });
  });

  it("goes on after a problem and applies in order", () => {
    const { value, problems } = apply("x.y=1", "actor.optim.lr=1", "actor.optim.lr=2");
    expect(problems).toHaveLength(1);
    expect(value.actor.optim.lr).toBe(2);
  });

  it("puts back any JSON value that it is given", () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 3 }), (given) =>
        expect(apply(`+fresh=${printValue(given)}`).value["fresh"]).toEqual(given),
      ),
    );
  });
});

describe("merging", () => {
  const tree = fc.jsonValue({ maxDepth: 3 }).map((value) => fromValue(value, { from: "default" }));

  it("is associative where values keep their shape, has the empty map as unit, and is idempotent", () => {
    const map = fc
      .dictionary(fc.constantFrom("a", "b", "c"), fc.dictionary(fc.constantFrom("x", "y"), fc.integer()))
      .map((value) => fromValue(value, { from: "default" }));
    const empty = fromValue({}, { from: "default" });
    fc.assert(
      fc.property(map, map, map, (a, b, c) => {
        expect(toValue(merge(a, merge(b, c)))).toEqual(toValue(merge(merge(a, b), c)));
        expect(toValue(merge(empty, a))).toEqual(toValue(a));
        expect(toValue(merge(a, empty))).toEqual(toValue(a));
        expect(toValue(merge(a, a))).toEqual(toValue(a));
      }),
    );
  });

  it("lets the later value win wherever it is no map", () => {
    const leaf = tree.filter((node) => node.kind !== "map");
    fc.assert(fc.property(tree, leaf, (base, over) => expect(merge(base, over)).toBe(over)));
  });
});
