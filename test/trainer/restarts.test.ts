import { describe, expect, it } from "@jest/globals";
import { VerlError } from "../../core/errors/index.ts";
import { fitWithRestarts, type Attempt, type RestartPoint } from "../../core/trainer/restarts.ts";
import type { FitResult } from "../../core/trainer/run-record.ts";
import { recordingStream } from "./support/tiny-run.ts";

const death = new VerlError("VERL_WORKER_DIED", "Rank 1 of models exited with code 3.");
const RESULT = { step: 9, total: 9 } as FitResult;

/** What is done to attempts, each of which ends as given: with an error, or well. */
function script(endings: readonly (Error | undefined)[], progress = { done: 5, saved: 4, checkpoint: "run/4" }) {
  const calls: string[] = [];
  const points: RestartPoint[] = [];
  const stream = recordingStream();
  let at = 0;
  const note = (call: string): Promise<void> => {
    calls.push(call);
    return Promise.resolve();
  };
  const attempt = (): Attempt => {
    const ending = endings[at++];
    return {
      record: {
        progress,
        abandon: () => note("abandon"),
        release: () => note("release"),
      } as unknown as Attempt["record"],
      fit: () => (ending ? Promise.reject(ending) : Promise.resolve(RESULT)),
      close: () => note("close"),
    };
  };
  const run = (limit: number, { signal, refusal }: { signal?: AbortSignal; refusal?: Error } = {}) => {
    const open = async (point: RestartPoint): Promise<Attempt> => {
      points.push(point);
      await note("open");
      if (refusal && points.length === 1) throw refusal;
      return attempt();
    };
    return fitWithRestarts(attempt(), limit, open, { stream, signal });
  };
  return { run, calls, points, terminal: stream.text };
}

describe("a run that may be restarted", () => {
  it("closes what died before the next attempt is opened, which is told of all before", async () => {
    const { run, calls, points, terminal } = script([death, death, undefined]);
    expect(await run(2)).toBe(RESULT);
    expect(calls).toEqual(["release", "close", "open", "release", "close", "open", "close"]);
    const restart = { reason: death.message, after_step: 5, resumed_from_step: 4 };
    expect(points).toEqual([
      { checkpoint: "run/4", restarts: [restart] },
      { checkpoint: "run/4", restarts: [restart, restart] },
    ]);
    expect(terminal()).toContain("Restart 2 of 2 (trainer.max_restarts), from run/4; 1 step will be done again.");
  });

  it("finds a death behind another error", async () => {
    const wrapped = new VerlError("VERL_ENTRY_FAILED", "The reward manager failed.", { cause: death });
    expect(await script([wrapped, undefined]).run(1)).toBe(RESULT);
  });

  it("begins anew without a checkpoint", async () => {
    const { run, points, terminal } = script([death, undefined], { done: 2, saved: 0, checkpoint: undefined! });
    await run(1);
    expect(points[0]).toMatchObject({ checkpoint: undefined, restarts: [{ after_step: 2, resumed_from_step: 0 }] });
    expect(terminal()).toContain("from the beginning, since there is no checkpoint (trainer.save_freq); 2 steps will");
  });

  it("counts an attempt whose ranks die as they start", async () => {
    const { run, points } = script([death, undefined]);
    expect(await run(2, { refusal: death })).toBe(RESULT);
    expect(points.map(({ restarts }) => restarts.map(({ after_step }) => after_step))).toEqual([[5], [5, 4]]);
  });

  it.each([
    ["is not to be restarted", [death], 0, undefined, death],
    ["died more often than it may", [death, death], 1, undefined, death],
    ["failed otherwise", [new Error("no disk")], 3, undefined, new Error("no disk")],
    ["was asked to stop", [death], 3, AbortSignal.abort(), death],
  ])("ends with the reason when it %s", async (_, endings, limit, signal, reason) => {
    const { run, calls } = script(endings);
    await expect(run(limit, { signal })).rejects.toThrow(reason.message);
    expect(calls.slice(-2)).toEqual(["abandon", "close"]);
  });
});
