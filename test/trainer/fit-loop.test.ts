import { describe, expect, it } from "@jest/globals";
import { fitLoop, type FitPlan } from "../../core/trainer/fit-loop.ts";

/** Runs the loop over work that writes down what was called; `during` runs inside the step of that number. */
async function trace(plan: Partial<FitPlan>, during: Record<number, (stop: AbortController) => void> = {}) {
  const calls: string[] = [];
  const logged: Record<string, number>[] = [];
  const stop = new AbortController();
  const end = await fitLoop(
    {
      step: (step, metrics) => {
        calls.push(`step ${step}`);
        metrics.add("loss", step / 10);
        during[step]?.(stop);
        return Promise.resolve();
      },
      validate: (step) => {
        calls.push(`validate ${step}`);
        return Promise.resolve({ "val/score": step });
      },
      save: (step) => Promise.resolve(void calls.push(`save ${step}`)),
      log: (metrics) => Promise.resolve(void logged.push(metrics)),
    },
    { start: 0, total: 5, testFreq: -1, saveFreq: -1, ...plan, stop: stop.signal },
  );
  return { calls, logged, end };
}

describe("fitLoop", () => {
  it("validates and saves at their steps and after the last", async () => {
    const { calls, end } = await trace({ testFreq: 2, saveFreq: 3 });
    expect(calls).toEqual([
      "step 1",
      "step 2",
      "validate 2",
      "step 3",
      "save 3",
      "step 4",
      "validate 4",
      "step 5",
      "validate 5",
      "save 5",
    ]);
    expect(end).toEqual({ step: 5, interrupted: false });
  });

  it("never validates or saves when told so, and starts after the steps that were done before", async () => {
    expect((await trace({ start: 3, total: 4 })).calls).toEqual(["step 4"]);
    expect((await trace({ start: 4, total: 4 })).end).toEqual({ step: 4, interrupted: false });
  });

  it("logs each step with its number, validation and timers", async () => {
    const { logged } = await trace({ total: 1, testFreq: 1, saveFreq: 1 });
    expect(logged).toHaveLength(1);
    expect(logged[0]).toMatchObject({ loss: 0.1, "val/score": 1, "training/global_step": 1 });
    expect(Object.keys(logged[0]!)).toEqual(expect.arrayContaining(["timing_s/testing", "timing_s/save_checkpoint"]));
  });

  it("finishes and saves the step under way when asked to stop, without validating it", async () => {
    const { calls, end } = await trace({ testFreq: 1, saveFreq: 10 }, { 2: (stop) => stop.abort() });
    expect(calls).toEqual(["step 1", "validate 1", "step 2", "save 2"]);
    expect(end).toEqual({ step: 2, interrupted: true });
  });

  it("is not interrupted when asked to stop in the last step", async () => {
    expect((await trace({ total: 2 }, { 2: (stop) => stop.abort() })).end).toEqual({ step: 2, interrupted: false });
  });

  it("does nothing when asked to stop before the first step", async () => {
    const stopped = AbortSignal.abort();
    const never = () => Promise.reject(new Error("called"));
    const end = await fitLoop(
      { step: never, validate: never, save: never, log: never },
      { start: 2, total: 5, testFreq: 1, saveFreq: 1, stop: stopped },
    );
    expect(end).toEqual({ step: 2, interrupted: true });
  });

  it("passes errors on", async () => {
    const broken = () => {
      throw new RangeError("broken");
    };
    await expect(trace({}, { 1: broken })).rejects.toThrow("broken");
  });
});
