import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { interpolate } from "../../core/config/interpolate.ts";
import { fromValue, toValue, type MapNode } from "../../core/config/tree.ts";

function resolve(value: object, env: Record<string, string> = {}) {
  const { root, problems } = interpolate(fromValue(value, { from: "default" }) as MapNode, {
    env,
    isAbsent: () => false,
  });
  return { value: toValue(root) as Record<string, unknown>, problems };
}

/** Values without an interpolation in them. */
const plain = (maxDepth: number) => fc.jsonValue({ maxDepth }).filter((value) => !JSON.stringify(value).includes("${"));

describe("interpolation", () => {
  it("takes the value it names with its type, or writes it into text", () => {
    const { value, problems } = resolve({
      n: 3,
      s: { a: [1, "${n}"] },
      whole: "${s}",
      item: "${s.a[1]}",
      text: "x${n}-${s.a.0}",
      flag: "${yes}",
      yes: true,
    });
    expect(problems).toEqual([]);
    expect(value).toMatchObject({ whole: { a: [1, 3] }, item: 3, text: "x3-1", flag: true });
  });

  it("counts leading dots up the tree", () => {
    const tree = { a: { b: { c: "${.d}", d: 1, up: "${..e}", top: "${...f}" }, e: 2 }, f: 3 };
    expect(resolve(tree).value["a"]).toEqual({ b: { c: 1, d: 1, up: 2, top: 3 }, e: 2 });
  });

  it("follows chains, and maps that are interpolations themselves", () => {
    expect(resolve({ a: "${b}", b: "${c.x}", c: "${d}", d: { x: "${e}" }, e: 5 }).value).toMatchObject({ a: 5, b: 5 });
  });

  it("names a circle", () => {
    expect(resolve({ a: "${b.c}", b: { c: "${d}" }, d: "x${a}" }).problems).toEqual([
      expect.objectContaining({ code: "VERL_CONFIG_CYCLE", message: expect.stringContaining("a → b.c → d → a") }),
    ]);
    expect(resolve({ a: "${a}" }).problems).toHaveLength(1);
    expect(resolve({ a: { b: "${a}" } }).problems[0]).toMatchObject({ code: "VERL_CONFIG_CYCLE" });
  });

  it("reads the environment, with defaults", () => {
    const env = { N: "8", NAME: "run" };
    expect(
      resolve(
        {
          a: "${oc.env:N}",
          b: "${env:NONE,7}",
          c: "${oc.env:NONE,'x y'}",
          d: "in-${oc.env:NAME}",
          e: "${oc.env:NONE,null}",
          f: "${oc.env:NONE,${a}}",
        },
        env,
      ).value,
    ).toEqual({
      a: "8",
      b: "7",
      c: "x y",
      d: "in-run",
      e: null,
      f: "8",
    });
    expect(resolve({ a: "${oc.env:NONE}" }).problems[0]).toMatchObject({
      message: expect.stringContaining("NONE is not set"),
    });
  });

  it("selects with a default", () => {
    expect(
      resolve({ a: "${oc.select:b.c,4}", b: { c: 1 }, d: "${oc.select:no.where,[1,x]}", e: "${oc.select:no}" }).value,
    ).toMatchObject({ a: 1, d: [1, "x"], e: null });
  });

  it("says what is missing or meant", () => {
    const problem = (value: object) => resolve(value).problems[0];
    expect(problem({ data: { size: 1 }, a: "${data.sise}" })).toMatchObject({
      code: "VERL_CONFIG_INTERPOLATION",
      hint: "Did you mean ${data.size}?",
    });
    expect(problem({ a: "${now:%Y}" })).toMatchObject({ message: expect.stringContaining('no resolver "now"') });
    expect(problem({ a: "x${b" })).toMatchObject({ message: expect.stringContaining("not closed") });
    expect(problem({ a: "x${b}", b: [1] })).toMatchObject({
      message: expect.stringContaining("puts a list into text"),
    });
  });

  it("keeps \\${ as text, and all that has no ${ as it is", () => {
    expect(resolve({ a: "\\${b} $x {y}" }).value).toEqual({ a: "${b} $x {y}" });
    fc.assert(fc.property(plain(3), (value) => expect(resolve({ value }).value).toEqual({ value })));
  });

  it("gives the same whatever the order of the keys", () => {
    const links = fc.uniqueArray(fc.integer({ min: 0, max: 9 }), { minLength: 2, maxLength: 8 });
    fc.assert(
      fc.property(links, plain(1), (ids, end) => {
        const chain = ids.map(
          (id, index) => [`k${id}`, index + 1 < ids.length ? `\${k${ids[index + 1]}}` : { end }] as const,
        );
        const forward = resolve(Object.fromEntries(chain)).value;
        expect(resolve(Object.fromEntries([...chain].reverse())).value).toEqual(forward);
        expect(forward[chain[0]![0]]).toEqual({ end });
      }),
    );
  });
});
