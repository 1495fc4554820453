import { describe, expect, it } from "@jest/globals";
import { preparing } from "../../core/trainer/preparing.ts";
import { RunEnd } from "../../core/trainer/run-end.ts";

/** Waits until the run is ended, as the transports do at their start. */
const untilEnded = (ended: RunEnd) => (): Promise<never> =>
  new Promise((_, reject) => ended.signal.addEventListener("abort", () => reject(ended.signal.reason as Error)));

describe("preparing", () => {
  it("ends with the first request to stop, whatever it waits for", async () => {
    const [ended, stop] = [new RunEnd(), new AbortController()];
    const run = preparing(ended, stop.signal, untilEnded(ended));
    stop.abort(new Error("Ctrl-C"));
    await expect(run).rejects.toThrow("Ctrl-C");
    const failing = new AbortController();
    const closed = preparing(new RunEnd(), failing.signal, () => {
      failing.abort(new Error("Ctrl-C"));
      return Promise.reject(new Error("the server is closed"));
    });
    await expect(closed).rejects.toThrow("Ctrl-C");
    expect(await preparing(new RunEnd(), stop.signal, () => Promise.resolve(1))).toBe(1);
  });

  it("closes what an error leaves open, and leaves a run that is ready to itself", async () => {
    const [failed, ready, stop] = [new RunEnd(), new RunEnd(), new AbortController()];
    await expect(preparing(failed, stop.signal, () => Promise.reject(new Error("no file")))).rejects.toThrow("no file");
    expect(failed.signal.aborted).toBe(true);
    expect(await preparing(ready, stop.signal, () => Promise.resolve(7))).toBe(7);
    stop.abort();
    expect(ready.signal.aborted).toBe(false);
  });
});
