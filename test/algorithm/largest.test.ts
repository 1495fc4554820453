import { expect, it } from "@jest/globals";
import fc from "fast-check";
import { Largest } from "verl";

const few = fc.integer({ min: -3, max: 3 });
const many = fc.double({ noNaN: true });

it("finds the k-th largest of numbers in any order, and how many of the k are equal to it", () => {
  fc.assert(
    fc.property(fc.array(fc.oneof(few, many), { minLength: 1, maxLength: 200 }), fc.nat(), (numbers, seed) => {
      const k = 1 + (seed % numbers.length);
      const largest = new Largest(k, numbers.length);
      for (const number of numbers) largest.show(number);
      const first = numbers.toSorted((a, b) => b - a).slice(0, k);
      const value = first[k - 1]!;
      const found = largest.last();
      expect(found.value === value).toBe(true);
      expect(found.ties).toBe(first.filter((other) => other === value).length);
    }),
    { numRuns: 500 },
  );
});

it.each([
  ["rising", (i: number) => i],
  ["falling", (i: number) => -i],
  ["all equal", () => 1],
])("takes numbers that are %s", (_, of) => {
  const numbers = Array.from({ length: 1_000 }, (_, i) => of(i));
  const largest = new Largest(7, numbers.length);
  for (const number of numbers) largest.show(number);
  expect(largest.last().value).toBe(numbers.toSorted((a, b) => b - a)[6]);
});
