import { expect, it } from "@jest/globals";
import fc from "fast-check";
import { plainFacts } from "../../core/errors/plain-facts.ts";

const text = (facts: unknown): string => JSON.stringify(plainFacts(facts));

it("are JSON data as they are", () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      expect(text(value)).toBe(JSON.stringify(value));
    }),
  );
});

it("are JSON data, whatever is given", () => {
  fc.assert(
    fc.property(fc.anything({ withBigInt: true, withMap: true, withSet: true, withTypedArray: true }), (value) => {
      const facts = plainFacts({ value });
      expect(structuredClone(facts)).toEqual(facts);
      expect(JSON.parse(JSON.stringify(facts))).toEqual(JSON.parse(text({ value })));
    }),
  );
  const revoked = Proxy.revocable({}, {});
  revoked.revoke();
  expect(plainFacts({ revoked: revoked.proxy, fine: 1 })).toEqual({ revoked: "[unreadable]", fine: 1 });
});

it("tell the same object twice where it stands beside itself", () => {
  const shared = { a: 1 };
  expect(plainFacts([shared, shared])).toEqual([{ a: 1 }, { a: 1 }]);
});

it("are cut where they are many, or deep", () => {
  const long = plainFacts(new Array(20_000).fill(0)) as unknown[];
  expect(long.at(-1)).toBe("[10001 more]");
  const wide = plainFacts(Object.fromEntries(Array.from({ length: 20_000 }, (_, at) => [`k${at}`, 0])));
  expect(wide).toMatchObject({ "…": "10001 more" });
  // Each is small, all of them are not.
  const lists = new Array(3000).fill(new Array(3000).fill(0));
  expect(text(lists).length).toBeLessThan(50_000);
  let deep: unknown = 0;
  for (let level = 0; level < 100_000; level++) deep = [deep];
  expect(text(deep)).toContain("[…]");
});
