import { beforeEach, describe, expect, it } from "@jest/globals";
import { VerlError } from "../../core/errors/index.ts";
import { allInNameOf, inNameOf, registries } from "../../core/registry/index.ts";
import { clearRegistries, estimator, failure } from "./helpers.ts";

beforeEach(() => {
  clearRegistries();
  registries.adv_estimator.register("mine", estimator({ aliases: ["my"] }), { source: "verl-plugin-x@1.0.0" });
});

const throwing = (error: unknown) => () =>
  inNameOf("adv_estimator", "my", () => {
    throw error;
  });

describe("inNameOf", () => {
  it("gives back what the work does, now or later", async () => {
    expect(inNameOf("adv_estimator", "mine", () => 7)).toBe(7);
    await expect(inNameOf("adv_estimator", "mine", () => Promise.resolve(7))).resolves.toBe(7);
  });

  it("tells any error as the entry's, with the error as its cause", async () => {
    const cause = new TypeError("x is not a function");
    const expected = {
      code: "VERL_ENTRY_FAILED",
      message: 'The advantage estimator "mine" of verl-plugin-x@1.0.0 failed: x is not a function',
      location: { plugin: "verl-plugin-x@1.0.0" },
      details: { kind: "adv_estimator", key: "mine" },
      cause,
    };
    expect(await failure(throwing(cause))).toMatchObject(expected);
    await expect(inNameOf("adv_estimator", "my", () => Promise.reject(cause))).rejects.toMatchObject(expected);
    expect((await failure(throwing("no error at all"))).message).toContain("failed: no error at all");
  });

  it("keeps code, hint, path and details of an error of this package", async () => {
    const cause = new VerlError("VERL_ALGORITHM_SHAPE", "it returned nothing.", {
      hint: "Return it.",
      location: { path: "algorithm.adv_estimator" },
      details: { row: 3 },
    });
    expect(await failure(throwing(cause))).toMatchObject({
      code: "VERL_ALGORITHM_SHAPE",
      message: 'The advantage estimator "mine" of verl-plugin-x@1.0.0 failed: it returned nothing.',
      hint: "Return it.",
      location: { path: "algorithm.adv_estimator", plugin: "verl-plugin-x@1.0.0" },
      details: { row: 3, kind: "adv_estimator", key: "mine" },
    });
  });

  it.each([
    ["an abort", new DOMException("stopped", "AbortError")],
    ["what the user has to mend", new VerlError("VERL_ALGORITHM_GROUP", "One answer.")],
    ["an error that names a file", new VerlError("VERL_REWARD_RESULT", "x", { location: { file: "reward.ts" } })],
    ["an error that names a plugin", new VerlError("VERL_INJECT_FAILED", "x", { location: { plugin: "other" } })],
    ["an inner entry's error", new VerlError("VERL_ENTRY_FAILED", "x", { details: { kind: "loss_agg", key: "sum" } })],
  ])("leaves %s as it is", (_, error) => {
    expect(throwing(error)).toThrow(error);
  });

  it("leaves an error as it is where nobody holds the key", () => {
    const error = new Error("x");
    const work = (): never => {
      throw error;
    };
    expect(() => inNameOf("adv_estimator", "nobody", work)).toThrow(error);
  });
});

describe("allInNameOf", () => {
  it("covers every method of an instance, and keeps its fields and private parts", async () => {
    class Rows {
      #rows = 3;
      readonly stats = { dropped: 1 };
      get length(): number {
        return this.#rows;
      }
      row(at: number): number {
        if (at >= this.#rows) throw new RangeError("no such row");
        return at;
      }
      grow(): void {
        this.#rows++;
      }
      readonly absent?: () => void;
    }
    const rows = allInNameOf("adv_estimator", "mine", new Rows());
    rows.grow();
    expect([rows.length, rows.row(3), rows.stats, rows.absent]).toEqual([4, 3, { dropped: 1 }, undefined]);
    expect((await failure(() => rows.row(4))).message).toContain('"mine" of verl-plugin-x@1.0.0 failed: no such row');
  });
});
