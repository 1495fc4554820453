import { describe, expect, it } from "@jest/globals";
import { fitLoop, type FitPlan } from "../../core/trainer/fit-loop.ts";

type During = Record<number, (stop: AbortController) => void>;

/** Runs the loop over work that writes down what was called; `during` runs inside the step of that number, `logging` as it is logged. */
async function trace(plan: Partial<FitPlan>, during: During = {}, logging: During = {}) {
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
      save: (step) => {
        calls.push(`write ${step}`);
        return Promise.resolve(() => Promise.resolve(void calls.push(`save ${step}`)));
      },
      log: (metrics, step) => {
        calls.push(`log ${step}`);
        logged.push(metrics);
        logging[step]?.(stop);
        return Promise.resolve();
      },
    },
    { start: 0, total: 5, testFreq: -1, saveFreq: -1, ...plan, stop: stop.signal },
  );
  return { calls, logged, end };
}

describe("fitLoop", () => {
  it("hears a signal between steps that wait for nothing", async () => {
    const { end } = await trace({ total: 10_000 }, { 1: (stop) => void setTimeout(() => stop.abort(), 0) });
    expect(end.interrupted).toBe(true);
  });

  it("validates and saves at their steps and after the last", async () => {
    const { calls, end } = await trace({ testFreq: 2, saveFreq: 3 });
    expect(calls).toEqual([
      ...["step 1", "log 1"],
      ...["step 2", "validate 2", "log 2"],
      ...["step 3", "write 3", "log 3", "save 3"],
      ...["step 4", "validate 4", "log 4"],
      ...["step 5", "validate 5", "write 5", "log 5", "save 5"],
    ]);
    expect(end).toEqual({ step: 5, interrupted: false });
  });

  it("never validates or saves when told so, and starts after the steps that were done before", async () => {
    expect((await trace({ start: 3, total: 4 })).calls).toEqual(["step 4", "log 4"]);
    expect((await trace({ start: 4, total: 4 })).end).toEqual({ step: 4, interrupted: false });
  });

  it("logs each step with its number, validation and timers", async () => {
    const { logged } = await trace({ total: 1, testFreq: 1, saveFreq: 1 });
    expect(logged).toHaveLength(1);
    expect(logged[0]).toMatchObject({ loss: 0.1, "val/score": 1, "training/global_step": 1 });
    expect(Object.keys(logged[0]!)).toEqual(expect.arrayContaining(["timing_s/testing", "timing_s/save_checkpoint"]));
  });

  it("finishes, validates and saves the step under way when asked to stop", async () => {
    const { calls, end } = await trace({ testFreq: 2, saveFreq: 10 }, { 2: (stop) => stop.abort() });
    expect(calls).toEqual(["step 1", "log 1", "step 2", "validate 2", "log 2", "write 2", "save 2"]);
    expect(end).toEqual({ step: 2, interrupted: true });
  });

  it("saves the step when asked to stop as it is logged, and saves none twice", async () => {
    const stopping: During = { 2: (stop) => stop.abort() };
    expect((await trace({ saveFreq: 10 }, {}, stopping)).calls.slice(2)).toEqual([
      "step 2",
      "log 2",
      "write 2",
      "save 2",
    ]);
    expect((await trace({ saveFreq: 2 }, {}, stopping)).calls.slice(2)).toEqual([
      "step 2",
      "write 2",
      "log 2",
      "save 2",
    ]);
  });

  it("completes when asked to stop in the last step: validated, saved, not interrupted", async () => {
    const { calls, end } = await trace({ total: 2, testFreq: 5, saveFreq: 5 }, { 2: (stop) => stop.abort() });
    expect(calls.slice(2)).toEqual(["step 2", "validate 2", "write 2", "log 2", "save 2"]);
    expect(end).toEqual({ step: 2, interrupted: false });
  });

  it("gives a step up that throws the reason of the stop, and saves those before it", async () => {
    const { calls, end } = await trace(
      { saveFreq: 10 },
      {
        3: (stop) => {
          stop.abort();
          throw stop.signal.reason;
        },
      },
    );
    expect(calls.slice(4)).toEqual(["step 3", "write 2", "save 2"]);
    expect(end).toEqual({ step: 2, interrupted: true });
  });

  it("passes an error on that is not the reason of the stop", async () => {
    const broken: During = {
      1: (stop) => {
        stop.abort();
        throw new RangeError("broken");
      },
    };
    await expect(trace({}, broken)).rejects.toThrow("broken");
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
