import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { NdArray, type Nested } from "../../core/batch/index.ts";

describe("NdArray.from", () => {
  it("reads nested lists of any depth, and an element alone", () => {
    const array = NdArray.from([
      [1, 2, 3],
      [4, 5, 6],
    ]);
    expect(array.equals(new NdArray("float32", [2, 3], Float32Array.of(1, 2, 3, 4, 5, 6)))).toBe(true);
    expect(NdArray.from(7, "int32").shape).toEqual([]);
    expect(NdArray.from([], "int32").shape).toEqual([0]);
    expect(NdArray.from([[], []]).shape).toEqual([2, 0]);
    expect([...NdArray.from([true, false], "bool").data]).toEqual([1, 0]);
    expect([...NdArray.from([1, 2n ** 62n], "int64").data]).toEqual([1n, 2n ** 62n]);
    expect([...NdArray.from([NaN, Infinity]).data]).toEqual([NaN, Infinity]);
  });

  it("gives back what it was made of, row by row", () => {
    const rows = fc
      .nat(4)
      .chain((width) => fc.array(fc.array(fc.integer(), { minLength: width, maxLength: width }), { minLength: 1 }));
    fc.assert(
      fc.property(rows, (lists) => {
        const array = NdArray.from(lists, "int32");
        expect(lists.map((_, row) => [...array.row(row).data])).toEqual(lists);
      }),
    );
  });

  it.each<[Nested, string]>([
    [[[1, 2], [3]], "at [1] is a list of 1, where the first row has a list of 2"],
    [[[1], 2], "at [1] is 2, where the first row has a list of 1"],
    [[1, [2]], "at [1] is a list of 1, where the first row has a single element"],
  ])("refuses lists without one shape: %j", (nested, message) => {
    expect(() => NdArray.from(nested)).toThrow(message);
  });

  it.each([
    [[1.5], "int32"],
    [[2 ** 31], "int32"],
    [[-1], "uint8"],
    [[2], "bool"],
    [[2n ** 63n], "int64"],
    [[2 ** 60], "int64"],
  ] as const)("refuses %p as %s, which would become another number", (nested, dtype) => {
    expect(() => NdArray.from(nested, dtype)).toThrow(/The element at \[0\]/);
  });
});
