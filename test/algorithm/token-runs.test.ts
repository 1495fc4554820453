import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { NdArray, tokenRuns } from "../../core/index.ts";

/** Runs as a reader of the definition would find them. */
function runsByElement(mask: NdArray<"float32">): { starts: number[]; ends: number[]; ofRow: number[] } {
  const [starts, ends, ofRow]: [number[], number[], number[]] = [[], [], [0]];
  for (let row = 0; row < mask.rows; row++) {
    for (let column = 0; column < mask.rowSize; column++) {
      const at = row * mask.rowSize + column;
      if (mask.data[at] === 0) continue;
      if (column === 0 || mask.data[at - 1] === 0) starts.push(at);
      if (column === mask.rowSize - 1 || mask.data[at + 1] === 0) ends.push(at + 1);
    }
    ofRow.push(starts.length);
  }
  return { starts, ends, ofRow };
}

const anyFlag = fc.constantFrom(0, 1, 1, -0, 0.5, 2, -1, NaN, 2 ** -140);

/** Rows of a width: mostly a run of ones from the first column on, as answers are, with any flag in any place now and then. */
const masks = fc.nat({ max: 9 }).chain((width) =>
  fc
    .array(
      fc.oneof(
        fc.nat({ max: width }).map((ones) => Array.from({ length: width }, (_, column) => (column < ones ? 1 : 0))),
        fc.array(fc.constantFrom(0, 1, 1, -0), { minLength: width, maxLength: width }),
        fc.array(anyFlag, { minLength: width, maxLength: width }),
      ),
      { maxLength: 6 },
    )
    .map((rows) => ({ width, rows })),
);

test("runs are those that a scan of every element finds, wherever the mask lies in memory; other flags than 0 and 1 are refused", () => {
  fc.assert(
    fc.property(masks, fc.nat({ max: 3 }), ({ width, rows }, before) => {
      const data = Float32Array.from([...Array<number>(before).fill(1), ...rows.flat(), 1, 1]);
      const mask = new NdArray("float32", [rows.length, width], data.subarray(before, before + rows.length * width));
      if (rows.flat().some((flag) => flag !== 0 && flag !== 1)) {
        expect(() => tokenRuns(mask)).toThrow(expect.objectContaining({ code: "VERL_ALGORITHM_MASK" }));
        return;
      }
      const { starts, ends, ofRow } = tokenRuns(mask);
      expect({ starts: Array.from(starts), ends: Array.from(ends), ofRow: [...ofRow] }).toEqual(runsByElement(mask));
    }),
    { numRuns: 2000 },
  );
});

test("integer masks too", () => {
  const mask = new NdArray("int32", [2, 3], Int32Array.of(1, 1, 0, 0, 1, 0));
  expect(Array.from(tokenRuns(mask).starts)).toEqual([0, 4]);
});
