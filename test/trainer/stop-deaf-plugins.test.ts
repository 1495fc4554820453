import { afterEach, beforeAll, expect, it, jest } from "@jest/globals";
import { registries } from "../../core/registry/index.ts";
import { PpoTrainer } from "../../core/trainer/ppo-trainer.ts";
import type { Tracker } from "../../core/trainer/tracker.ts";
import { RlhfDataset } from "../../plugins/dataset/rlhf.ts";
import { registerBuiltIns } from "./support/built-ins.ts";
import { metricsOf } from "./support/read-run.ts";
import { ppoConfig, recordingStream, runFolder } from "./support/tiny-run.ts";

/*
 * Datasets and trackers whose promises never settle, in a run that is asked to stop.
 */

jest.setTimeout(300_000);

/** Called where one of them is at work; true lets it hang. */
let hangs: ((what: string) => boolean) | undefined;
afterEach(() => (hangs = undefined));

const work = (what: string): Promise<void> => (hangs?.(what) ? new Promise(() => undefined) : Promise.resolve());

class DeafDataset extends RlhfDataset {
  onBatchEnd(_: unknown, step: number): Promise<void> {
    return work(`onBatchEnd ${step}`);
  }
}

class DeafTracker implements Tracker {
  log(_: unknown, step: number): Promise<void> {
    return work(`log ${step}`);
  }

  close(): Promise<void> {
    return work("close");
  }
}

beforeAll(() => {
  registerBuiltIns();
  const description = "Deaf.";
  registries.dataset.register("test_deaf", { description, create: DeafDataset });
  registries.tracker.register("test_deaf", { description, create: DeafTracker });
});

async function train(folder: string, signal?: AbortSignal) {
  const stream = recordingStream();
  const saving = ["trainer.total_training_steps=3", "trainer.save_freq=3"];
  const config = ppoConfig(folder, [...saving, "data.dataset=test_deaf", "trainer.logger=[test_deaf]"]);
  const result = await (await PpoTrainer.create(config, { stream, ...(signal && { signal }) })).fit();
  return { result, terminal: stream.text() };
}

it.each([
  [
    "onBatchEnd 2",
    'onBatchEnd of the dataset "test_deaf" did not end within the 10 s that datasets and trackers share once the run is asked to stop, and is left to itself: what it has done by now is what the checkpoint of step 2 has of it.',
  ],
  [
    "log 2",
    'The tracker "test_deaf" did not end within the 10 s that datasets and trackers share once the run is asked to stop, and is left to itself.',
  ],
  [
    "close",
    'The tracker "test_deaf" did not end within the 10 s that datasets and trackers share once the run is asked to stop, and is left to itself.',
  ],
])(
  "is left to itself at its %s, and named; the step is done and saved, and the run can be resumed",
  async (at, line) => {
    const folder = runFolder();
    const stop = new AbortController();
    const asked: string[] = [];
    hangs = (what) => {
      if (what === "onBatchEnd 2") stop.abort();
      asked.push(what);
      return what === at;
    };
    const { result, terminal } = await train(folder, stop.signal);
    expect(result).toMatchObject({ step: 2, interrupted: true });
    expect(result.checkpoint).toContain("global_step_2");
    expect(terminal).toContain(line);
    expect(metricsOf(`${folder}/run`).map(({ step }) => step)).toEqual([1, 2]);
    // One that hangs is asked for nothing more.
    const all = ["onBatchEnd 1", "log 1", "onBatchEnd 2", "log 2", "close"];
    expect(asked).toEqual(at === "log 2" ? all.slice(0, -1) : all);
    hangs = undefined;
    expect((await train(folder)).result).toMatchObject({ step: 3, interrupted: false });
  },
);
