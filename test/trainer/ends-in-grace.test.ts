import { afterEach, beforeEach, describe, expect, it, jest } from "@jest/globals";
import { endsInGrace } from "../../core/trainer/ends-in-grace.ts";

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

const hang = (): Promise<void> => new Promise(() => undefined);

/** How it ended, and after how many seconds. */
async function timed(stop: AbortSignal, work: () => void | Promise<void>): Promise<[boolean, number]> {
  const start = performance.now();
  const ended = endsInGrace(stop, work);
  await jest.advanceTimersByTimeAsync(0);
  let result: boolean | undefined;
  void ended.then((value) => (result = value));
  while (result === undefined) await jest.advanceTimersByTimeAsync(500);
  return [result, (performance.now() - start) / 1000];
}

describe("what hangs in a run that is asked to stop", () => {
  it("shares ten seconds, of which the later ones have one at least", async () => {
    const stop = new AbortController();
    stop.abort();
    const slow = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 4000));
    const taken = [await timed(stop.signal, slow)];
    // A step that is trained meanwhile takes nothing of them.
    await jest.advanceTimersByTimeAsync(60_000);
    for (let index = 0; index < 3; index++) taken.push(await timed(stop.signal, hang));
    expect(taken).toEqual([
      [true, 4],
      [false, 6],
      [false, 1],
      [false, 1],
    ]);
    expect(await timed(new AbortController().signal, slow)).toEqual([true, 4]);
  });

  it("has them from the stop where it began before", async () => {
    const stop = new AbortController();
    setTimeout(() => stop.abort(), 30_000);
    expect(await timed(stop.signal, hang)).toEqual([false, 40]);
    expect(await timed(stop.signal, hang)).toEqual([false, 1]);
  });
});
