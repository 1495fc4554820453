import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { DataProto } from "../../core/batch/data-proto.ts";
import { NdArray } from "../../core/batch/nd-array.ts";
import type { Dataset, DatasetRow } from "../../core/data/dataset.ts";
import { DataLoader, type LoaderState } from "../../core/data/loader.ts";
import { createRng } from "../../core/tensor/rng.ts";
import { CurriculumSampler, type CurriculumOptions } from "../../plugins/sampler/curriculum.ts";
import { errorOf } from "./helpers.ts";

const OPTIONS: CurriculumOptions = { column: "extra_info.difficulty", start: 0.25, pace: 0.25, target: 0.5 };

/** Row i is as hard as `(7 * i) % modulus`. */
function datasetOf(
  length: number,
  modulus = length,
  difficulty = (row: number): unknown => (7 * row) % modulus,
): Dataset {
  const row = (index: number): DatasetRow => ({
    data_source: "s",
    raw_prompt: [],
    extra_info: { difficulty: difficulty(index) },
    index,
  });
  return { length, row, promptIds: () => Int32Array.of(1), load: () => Promise.resolve(), stats: {} };
}

/** A step's batch of two answers, one of them without score. */
const scored = (score: number): DataProto =>
  new DataProto({
    batch: {
      token_level_scores: new NdArray("float32", [2, 2], Float32Array.of(0, score, 9, 9)),
      unscored: new NdArray("uint8", [2], Uint8Array.of(0, 1)),
    },
  });

const loaderOf = (length: number, batchSize: number, modulus = length): DataLoader =>
  new DataLoader({
    length,
    batchSize,
    sampler: new CurriculumSampler(OPTIONS, datasetOf(length, modulus), createRng(1)),
  });

const hardness = (length: number, rows: Int32Array): number[] => [...rows].map((row) => (7 * row) % length);

describe("the sampler curriculum", () => {
  it("draws easy rows first, and harder ones as soon as a step reaches the target", () => {
    const loader = loaderOf(16, 4);
    expect(hardness(16, loader.next().indices).sort((a, b) => a - b)).toEqual([0, 1, 2, 3]);
    loader.update(scored(0.2));
    // The share is used up: the rest comes from easy to hard.
    expect(hardness(16, loader.next().indices)).toEqual([4, 5, 6, 7]);
    loader.update(scored(1));
    loader.update(scored(1));
    const third = hardness(16, loader.next().indices);
    expect([...third].sort((a, b) => a - b)).toEqual([8, 9, 10, 11]);
    const next = loaderOf(16, 4);
    next.next();
    for (let step = 0; step < 3; step += 1) next.update(scored(1));
    // Everything is open now, in random order but for the rows that were drawn.
    expect(hardness(16, next.next().indices)).not.toEqual([4, 5, 6, 7]);
  });

  it("resumes exactly, wherever it is killed and whatever the scores were", () => {
    const shape = fc.record({
      length: fc.integer({ min: 4, max: 24 }),
      batchSize: fc.integer({ min: 1, max: 4 }),
      scores: fc.array(fc.constantFrom(0, 0.4, 0.6, 1), { minLength: 20, maxLength: 20 }),
      killed: fc.integer({ min: 0, max: 20 }),
    });
    fc.assert(
      fc.property(shape, ({ length, batchSize, scores, killed }) => {
        const run = (loader: DataLoader, steps: readonly number[]): number[][] =>
          steps.map((score) => {
            const { indices } = loader.next();
            loader.update(scored(score));
            return [...indices];
          });
        const whole = run(loaderOf(length, batchSize), scores);
        const first = loaderOf(length, batchSize);
        const before = run(first, scores.slice(0, killed));
        const second = loaderOf(length, batchSize);
        second.loadState(JSON.parse(JSON.stringify(first.saveState())) as LoaderState);
        expect([...before, ...run(second, scores.slice(killed))]).toEqual(whole);
      }),
      { numRuns: 100 },
    );
  });

  it("names the row whose difficulty is missing", async () => {
    const dataset = datasetOf(4, 4, (row) => (row === 2 ? null : row));
    const sampler = new CurriculumSampler(OPTIONS, dataset, createRng(0));
    const error = await errorOf(() => sampler.order(0, 4));
    expect(error).toMatchObject({ code: "VERL_DATA_COLUMN_TYPE", details: { row: 2, column: OPTIONS.column } });
  });

  it("is stopped by the loader when it loses a row", async () => {
    class Lossy extends CurriculumSampler {
      override reorder(rest: Int32Array): Int32Array {
        return rest.fill(rest[0]!);
      }
    }
    const loader = new DataLoader({
      length: 6,
      batchSize: 2,
      sampler: new Lossy(OPTIONS, datasetOf(6), createRng(0)),
    });
    loader.next();
    const error = await errorOf(() => loader.update(scored(1)));
    expect(error.code).toBe("VERL_DATA_SAMPLER");
    expect(error.message).toContain("Lossy reordered 4 rows of 4");
  });
});

describe("a dataset that grows", () => {
  it("has its new rows from the next epoch on, after a resume too", () => {
    const loader = loaderOf(4, 2, 6);
    loader.next();
    loader.update(scored(1));
    loader.grow(6);
    expect(loader.stepsPerEpoch).toBe(3);
    const resumed = loaderOf(6, 2);
    resumed.loadState(JSON.parse(JSON.stringify(loader.saveState())) as LoaderState);
    const rows = (from: DataLoader): number[][] => Array.from({ length: 4 }, () => [...from.next().indices]);
    const [rest, ...epoch] = rows(loader);
    expect(rest!.every((row) => row < 4)).toBe(true);
    expect(epoch.flat().sort()).toEqual([0, 1, 2, 3, 4, 5]);
    expect(rows(resumed)).toEqual([rest, ...epoch]);
    expect(() => loader.grow(3)).toThrow("had 6 rows and has 3 now");
  });
});
