import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { DataLoader, type LoaderState } from "../../core/data/loader.ts";
import { createRng } from "../../core/tensor/rng.ts";
import { CheckpointManager } from "../../core/trainer/checkpoint/checkpoint-manager.ts";
import { fitLoop } from "../../core/trainer/fit-loop.ts";
import { RandomSampler } from "../../plugins/sampler/random.ts";

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "verl-resume-"));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

const KILL = new Error("killed");

/** Trains 8 rows in batches of 2 for 2 epochs. @returns the rows that each step saw; a kill comes in the step after `killAfter`. */
async function run({ saveFreq = 0, killAfter = Infinity, total = 8 } = {}): Promise<Map<number, number[]>> {
  const loader = new DataLoader({ length: 8, batchSize: 2, sampler: new RandomSampler(createRng(7)) });
  const checkpoints = new CheckpointManager({ dir, keep: null, logger: { info: () => {}, warn: () => {} } });
  const seen = new Map<number, number[]>();
  const latest = await checkpoints.resolveResume("auto", null);
  const checkpoint = latest === undefined ? undefined : await checkpoints.load(latest);
  if (checkpoint) loader.loadState(checkpoint.parts.loader as LoaderState);
  const end = fitLoop(
    {
      step: (step) => {
        if (step > killAfter) return Promise.reject(KILL);
        seen.set(step, [...loader.next().indices]);
        return Promise.resolve();
      },
      validate: () => Promise.resolve({}),
      save: async (step) => {
        const state = { engines: {}, loader: loader.saveState(), rng: null, plugins: {}, extra: null };
        const publish = await checkpoints.prepare(step, state);
        return async () => void (await publish());
      },
      log: () => Promise.resolve(),
    },
    { start: checkpoint?.step ?? 0, total, testFreq: 0, saveFreq, stop: new AbortController().signal },
  );
  await end.catch((error: unknown) => expect(error).toBe(KILL));
  return seen;
}

describe("resume", () => {
  it.each([1, 2, 3, 4, 5, 6, 7])(
    "[case 90] after a kill behind step %i sees the rows that would have come",
    async (kill) => {
      const whole = await run();
      expect([...whole.keys()]).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
      expect([...whole.values()].slice(4).flat().sort()).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
      const before = await run({ saveFreq: 1, killAfter: kill });
      const after = await run({ saveFreq: 1 });
      expect(new Map([...before, ...after])).toEqual(whole);
      expect([...after.keys()][0]).toBe(kill + 1);
    },
  );

  it("[case 90] at the epoch's boundary trains all of the second epoch", async () => {
    const whole = await run();
    await run({ saveFreq: 4, killAfter: 4 });
    const after = await run({ saveFreq: 4 });
    expect([...after]).toEqual([...whole].filter(([step]) => step > 4));
  });

  it("[case 90] with no step left does none", async () => {
    await run({ saveFreq: 4 });
    expect((await run({ saveFreq: 4 })).size).toBe(0);
  });

  it.each([100, 400])(
    "[case 91] labels the first step after a checkpoint of step %i with the next number",
    async (step) => {
      const loader = new DataLoader({ length: 8, batchSize: 2, sampler: new RandomSampler(createRng(7)) });
      const checkpoints = new CheckpointManager({ dir, keep: null, logger: { info: () => {}, warn: () => {} } });
      await checkpoints.save(step, { engines: {}, loader: loader.saveState(), rng: null, plugins: {}, extra: null });
      expect([...(await run({ total: step + 2 })).keys()]).toEqual([step + 1, step + 2]);
    },
  );
});
