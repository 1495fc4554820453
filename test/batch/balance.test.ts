import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import {
  balancedOrder,
  DataProto,
  greedyPartition,
  inverseOrder,
  karmarkarKarp,
  microBatchPartitions,
  NdArray,
  rearrangeMicroBatches,
  seqlenBalancedPartitions,
  workload,
} from "../../core/batch/index.ts";
import { isVerlError } from "../../core/errors/verl-error.ts";

// Results of the reference's own functions: values, parts, equal size, Karmarkar–Karp, greedy.
const ORACLES: [number[], number, boolean, number[][], number[][]][] = [
  [
    [5, 3, 8, 1, 9, 2],
    2,
    true,
    [
      [1, 4, 5],
      [0, 2, 3],
    ],
    [
      [0, 3, 4],
      [1, 2, 5],
    ],
  ],
  [
    [5, 3, 8, 1, 9, 2],
    3,
    true,
    [
      [4, 3],
      [2, 5],
      [0, 1],
    ],
    [
      [0, 4],
      [1, 3],
      [2, 5],
    ],
  ],
  [[5, 3, 8, 1, 9, 2], 4, false, [[4], [2], [0, 3], [1, 5]], [[0], [1, 5], [2], [3, 4]]],
  [
    [10, 10, 10, 10],
    2,
    true,
    [
      [3, 0],
      [2, 1],
    ],
    [
      [0, 2],
      [1, 3],
    ],
  ],
  [[100, 1, 1, 1, 1, 1], 3, false, [[0], [4, 3, 1], [5, 2]], [[0], [1, 3, 5], [2, 4]]],
  [
    [7, 7, 7, 7, 7, 7, 7, 7],
    4,
    true,
    [
      [7, 0],
      [6, 1],
      [5, 2],
      [4, 3],
    ],
    [
      [0, 4],
      [1, 5],
      [2, 6],
      [3, 7],
    ],
  ],
  [
    [1, 2, 3, 4, 5, 6, 7, 8],
    2,
    true,
    [
      [7, 4, 2, 1],
      [6, 5, 3, 0],
    ],
    [
      [0, 2, 4, 6],
      [1, 3, 5, 7],
    ],
  ],
  [
    [512, 300, 10, 700, 700, 20, 30, 40],
    4,
    true,
    [
      [3, 5],
      [4, 2],
      [0, 6],
      [1, 7],
    ],
    [
      [0, 6],
      [1, 5],
      [2, 4],
      [3, 7],
    ],
  ],
];
const sorted = (parts: number[][]): number[][] => parts.map((part) => [...part].sort((a, b) => a - b));

describe("partitions", () => {
  it.each(ORACLES)("of %j in %i, equal %s, are the reference's", (values, k, equal, karp, greedy) => {
    expect(sorted(karmarkarKarp(values, k, equal))).toEqual(sorted(karp));
    expect(seqlenBalancedPartitions(values, k, equal)).toEqual(sorted(karp));
    expect(greedyPartition(values, k, equal)).toEqual(greedy);
  });

  it("weigh a sequence as the reference does", () => {
    expect(workload(100)).toBe(24_576 * 100 + 100 * 100);
  });

  it("hold each row once; equal parts differ by at most one row", () => {
    fc.assert(
      fc.property(
        fc.array(fc.nat(1000), { minLength: 1, maxLength: 40 }),
        fc.integer({ min: 1, max: 12 }),
        fc.boolean(),
        (values, k, equal) => {
          fc.pre(k <= values.length);
          for (const parts of [karmarkarKarp(values, k, equal), greedyPartition(values, k, equal)]) {
            expect(parts.flat().sort((a, b) => a - b)).toEqual([...values.keys()]);
            const sizes = parts.map((part) => part.length);
            if (equal) expect(Math.max(...sizes) - Math.min(...sizes)).toBeLessThanOrEqual(1);
          }
          expect(Math.min(...karmarkarKarp(values, k, equal).map((part) => part.length))).toBeGreaterThan(0);
        },
      ),
    );
  });

  it("refuse more parts than rows", () => {
    expect(() => karmarkarKarp([1], 2, false)).toThrow("1 rows cannot fill 2 parts");
  });

  it("order rows for ranks as the reference does, and chunks keep the parts when uneven", () => {
    expect([...balancedOrder([5, 3, 8, 1, 9, 2, 4, 4], 2)]).toEqual([5, 7, 4, 1, 3, 0, 2, 6]);
    expect([...balancedOrder([10, 20, 30, 40, 50, 60, 70, 80], 4)]).toEqual([0, 7, 1, 6, 2, 5, 3, 4]);
    expect([...balancedOrder([9, 1, 1, 1, 1], 2)].sort()).toEqual([0, 1, 2, 3, 4]);
    expect([...inverseOrder([2, 0, 1])]).toEqual([1, 2, 0]);
  });
});

describe("micro-batches by tokens", () => {
  const LENGTHS = [5, 3, 8, 1, 9, 2, 4, 4];

  it("are the reference's where that keeps the limit", () => {
    expect(microBatchPartitions(LENGTHS, 10)).toEqual([[0, 1, 3], [5, 6, 7], [4], [2]]);
    expect(microBatchPartitions(LENGTHS, 12)).toEqual([
      [0, 1, 7],
      [3, 4, 5],
      [2, 6],
    ]);
    expect(microBatchPartitions(LENGTHS, 20)).toEqual([
      [3, 4, 6, 7],
      [0, 1, 2, 5],
    ]);
    expect(microBatchPartitions(LENGTHS, 40)).toEqual([[0, 1, 2, 3, 4, 5, 6, 7]]);
    expect(microBatchPartitions(LENGTHS, 12, { smallAtEnds: false })).toEqual([
      [3, 4, 5],
      [2, 6],
      [0, 1, 7],
    ]);
    expect(microBatchPartitions(LENGTHS, 12, { minCount: 6 })).toEqual([[1, 5], [0], [4], [2], [3, 6], [7]]);
    expect(microBatchPartitions(LENGTHS, 12, { multipleOf: 4 })).toEqual([[0, 1, 3], [5, 6, 7], [4], [2]]);
  });

  it("hold the limit whenever they have more than one row", () => {
    fc.assert(
      fc.property(fc.array(fc.nat(50), { maxLength: 40 }), fc.integer({ min: 1, max: 100 }), (lengths, limit) => {
        const parts = microBatchPartitions(lengths, limit);
        expect(parts.flat().sort((a, b) => a - b)).toEqual([...lengths.keys()]);
        for (const part of parts) {
          const tokens = part.reduce((sum, row) => sum + lengths[row]!, 0);
          expect(part.length === 1 || tokens <= limit).toBe(true);
        }
      }),
    );
  });

  it("let a row above the limit stand alone, and refuse more micro-batches than rows", () => {
    expect(microBatchPartitions([20, 1, 1], 9).find((part) => part.includes(0))).toEqual([0]);
    expect(microBatchPartitions([], 9)).toEqual([]);
    try {
      microBatchPartitions([1, 1], 9, { minCount: 3 });
      throw new Error("Nothing was thrown.");
    } catch (error) {
      expect(isVerlError(error) && error.code).toBe("VERL_BATCH_BALANCE");
    }
  });

  it("restore the batch's order exactly", () => {
    const mask = NdArray.zeros("int32", [8, 9]);
    LENGTHS.forEach((length, row) => mask.row(row).data.fill(1, 0, length));
    const data = DataProto.fromSingleDict({ attention_mask: mask, uid: LENGTHS.map((_, row) => `row ${row}`) });
    const { batches, restore } = rearrangeMicroBatches(data, 12);
    expect(batches.length).toBe(3);
    expect(DataProto.concat(batches).index(restore).equals(data)).toBe(true);
  });
});
