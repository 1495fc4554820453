import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { createRng } from "../../core/tensor/rng.ts";

const draw = (rng: { nextU32(): number }, count: number) => Array.from({ length: count }, () => rng.nextU32());

describe("createRng", () => {
  it("gives the same numbers for the same seed, on every machine", () => {
    expect(draw(createRng(7), 4)).toEqual([3841378160, 646095334, 3230197246, 790846653]);
  });

  it("keeps named streams apart, whatever was drawn before and from whichever parent", () => {
    const root = createRng(1);
    const before = draw(root.stream("a"), 8);
    draw(root, 100);
    expect(draw(root.stream("a"), 8)).toEqual(before);
    const others = [
      createRng(2).stream("a"),
      root.stream("b"),
      root.stream("a").stream("a"),
      root.stream('a","a'),
      root,
    ];
    for (const other of others) expect(draw(other, 8)).not.toEqual(before);
  });

  it("resumes from a state that went through JSON", () => {
    fc.assert(
      fc.property(fc.integer(), fc.nat(50), (seed, drawn) => {
        const rng = createRng(seed).stream("x");
        for (let i = 0; i < drawn; i += 1) rng.normal();
        const state = JSON.parse(JSON.stringify(rng.state())) as number[];
        const expected = [rng.normal(), rng.uniform(), rng.below(10), ...draw(rng, 4)];
        const resumed = createRng(0);
        resumed.restore(state);
        expect([resumed.normal(), resumed.uniform(), resumed.below(10), ...draw(resumed, 4)]).toEqual(expected);
      }),
    );
  });

  it.each([[[1, 2, 3]], [[0, 0, 0, 0]], [[1, 2, 3, 0.5]], [[1, 2, 3, 2 ** 40]]])("refuses the state %j", (state) => {
    expect(() => createRng(0).restore(state)).toThrow(expect.objectContaining({ code: "VERL_RNG_STATE" }));
  });

  it("draws uniform numbers that float32 holds exactly, with the right moments", () => {
    const rng = createRng(3);
    const values = Array.from({ length: 20_000 }, () => rng.uniform());
    for (const value of values) expect(Math.fround(value)).toBe(value);
    expect(Math.min(...values)).toBeGreaterThanOrEqual(0);
    expect(Math.max(...values)).toBeLessThan(1);
    expect(values.reduce((sum, value) => sum + value, 0) / values.length).toBeCloseTo(0.5, 1.9);
  });

  it("draws normal numbers with mean 0, variance 1 and kurtosis 3", () => {
    const rng = createRng(4);
    const values = Array.from({ length: 40_000 }, () => rng.normal());
    const moment = (power: number) => values.reduce((sum, value) => sum + value ** power, 0) / values.length;
    expect(Math.abs(moment(1))).toBeLessThan(0.02);
    expect(Math.abs(moment(2) - 1)).toBeLessThan(0.03);
    expect(Math.abs(moment(4) - 3)).toBeLessThan(0.2);
  });

  it("draws below a bound without favour", () => {
    const rng = createRng(5);
    const counts = new Int32Array(6);
    for (let i = 0; i < 12_000; i += 1) counts[rng.below(6)]! += 1;
    for (const count of counts) expect(Math.abs(count - 2000)).toBeLessThan(200);
    expect(rng.below(2 ** 32)).toBeLessThan(2 ** 32);
    for (const bound of [0, -1, 1.5, 2 ** 33, NaN]) expect(() => rng.below(bound)).toThrow(RangeError);
  });

  it("shuffles in place to a permutation, each equally often", () => {
    const seen = new Map<string, number>();
    const rng = createRng(6);
    for (let i = 0; i < 6000; i += 1) {
      const order = rng.shuffle(Int32Array.of(0, 1, 2)).join("");
      seen.set(order, (seen.get(order) ?? 0) + 1);
    }
    expect([...seen.keys()].sort()).toEqual(["012", "021", "102", "120", "201", "210"]);
    for (const count of seen.values()) expect(Math.abs(count - 1000)).toBeLessThan(150);
  });
});
