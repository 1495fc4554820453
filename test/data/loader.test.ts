import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { DataLoader, type LoaderState } from "../../core/data/loader.ts";
import { createRng } from "../../core/tensor/rng.ts";
import { RandomSampler } from "../../plugins/sampler/random.ts";
import { SequentialSampler } from "../../plugins/sampler/sequential.ts";
import { errorOf } from "./helpers.ts";

const shapes = fc
  .record({
    length: fc.integer({ min: 1, max: 40 }),
    batchSize: fc.integer({ min: 1, max: 12 }),
    dropLast: fc.boolean(),
    seed: fc.nat(),
  })
  .filter(({ length, batchSize, dropLast }) => !dropLast || length >= batchSize);

const loaderOf = ({
  length,
  batchSize,
  dropLast,
  seed,
}: {
  length: number;
  batchSize: number;
  dropLast: boolean;
  seed: number;
}): DataLoader => new DataLoader({ length, batchSize, dropLast, sampler: new RandomSampler(createRng(seed)) });

describe("DataLoader", () => {
  it("goes on at the exact sample, wherever it is killed in two epochs", () => {
    fc.assert(
      fc.property(shapes, (shape) => {
        const whole = loaderOf(shape);
        const steps = 2 * whole.stepsPerEpoch + 1;
        const expected = Array.from({ length: steps }, () => whole.next());
        for (let killed = 0; killed < steps; killed += 1) {
          const first = loaderOf(shape);
          const before = Array.from({ length: killed }, () => first.next());
          const state = JSON.parse(JSON.stringify(first.saveState())) as LoaderState;
          const second = loaderOf(shape);
          second.loadState(state);
          const after = Array.from({ length: steps - killed }, () => second.next());
          expect([...before, ...after]).toEqual(expected);
        }
      }),
      { numRuns: 60 },
    );
  });

  it("hands out each row at most once an epoch, and all of them unless the last batch is dropped", () => {
    fc.assert(
      fc.property(shapes, (shape) => {
        const loader = loaderOf(shape);
        for (let epoch = 0; epoch < 2; epoch += 1) {
          const batches = Array.from({ length: loader.stepsPerEpoch }, () => loader.next());
          const rows = batches.flatMap(({ indices }) => [...indices]);
          expect(new Set(rows).size).toBe(rows.length);
          expect(rows).toHaveLength(shape.dropLast ? shape.length - (shape.length % shape.batchSize) : shape.length);
          expect(batches.map((batch) => batch.epoch)).toEqual(batches.map(() => epoch));
          expect(batches.map((batch) => batch.endsEpoch)).toEqual(
            batches.map((_, index) => index === batches.length - 1),
          );
        }
      }),
    );
  });

  it("resumes case 90: 8 rows, batch 2, saved after step 4, trains steps 5 to 8", () => {
    const shape = { length: 8, batchSize: 2, dropLast: true, seed: 1 };
    const whole = loaderOf(shape);
    const expected = Array.from({ length: 8 }, () => [...whole.next().indices]);
    const killed = loaderOf(shape);
    for (let step = 0; step < 4; step += 1) killed.next();
    const resumed = loaderOf(shape);
    resumed.loadState(killed.saveState());
    const rest = Array.from({ length: 4 }, () => [...resumed.next().indices]);
    expect(rest).toEqual(expected.slice(4));
    expect(rest.flat().sort()).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
  });

  it("goes on with another batch size without repeating a row", () => {
    const first = new DataLoader({ length: 10, batchSize: 4, sampler: new SequentialSampler() });
    first.next();
    const second = new DataLoader({ length: 10, batchSize: 3, sampler: new SequentialSampler() });
    second.loadState(first.saveState());
    expect([second.next(), second.next(), second.next()].map(({ indices }) => [...indices])).toEqual([
      [4, 5, 6],
      [0, 1, 2],
      [3, 4, 5],
    ]);
  });

  it("refuses a dataset smaller than one batch, and names a size that works", async () => {
    const error = await errorOf(() => new DataLoader({ length: 5, batchSize: 8, sampler: new SequentialSampler() }));
    expect(error.code).toBe("VERL_DATA_EMPTY");
    expect(error.hint).toContain("at most 5");
  });

  it.each([
    ["leaves one out", Int32Array.of(0, 1)],
    ["repeats one", Int32Array.of(0, 1, 1)],
    ["invents one", Int32Array.of(0, 1, 3)],
    ["counts below zero", Int32Array.of(0, 1, -1)],
  ])("names a sampler that %s", async (_, order) => {
    class BadSampler extends SequentialSampler {
      override order(): Int32Array {
        return order;
      }
    }
    const error = await errorOf(() => new DataLoader({ length: 3, batchSize: 1, sampler: new BadSampler() }).next());
    expect(error.code).toBe("VERL_DATA_SAMPLER");
    expect(error.message).toContain("BadSampler");
  });

  it.each([
    ["of another dataset", { epoch: 0, position: 0, length: 9, sampler: null }],
    ["beyond the end", { epoch: 0, position: 11, length: 10, sampler: null }],
    ["that is no number", { epoch: null as unknown as number, position: 0, length: 10, sampler: null }],
  ])("refuses a state %s", async (_, state) => {
    const loader = new DataLoader({ length: 10, batchSize: 2, sampler: new SequentialSampler() });
    expect((await errorOf(() => loader.loadState(state))).code).toBe("VERL_DATA_LOADER_STATE");
  });
});

describe("samplers", () => {
  it("random: depends on seed and epoch alone", () => {
    const sampler = new RandomSampler(createRng(3));
    const third = sampler.order(3, 50);
    sampler.order(0, 50);
    expect(sampler.order(3, 50)).toEqual(third);
    expect(new RandomSampler(createRng(3)).order(3, 50)).toEqual(third);
    expect(new RandomSampler(createRng(4)).order(3, 50)).not.toEqual(third);
    expect(sampler.order(4, 50)).not.toEqual(third);
    expect([...third].sort((a, b) => a - b)).toEqual(Array.from({ length: 50 }, (_, index) => index));
  });

  it("sequential: file order", () => {
    expect([...new SequentialSampler().order(7, 4)]).toEqual([0, 1, 2, 3]);
  });
});
