import { getEventListeners } from "node:events";
import { setImmediate } from "node:timers/promises";
import { describe, expect, it } from "@jest/globals";
import { mapConcurrent } from "../../core/reward/map-concurrent.ts";

describe("mapConcurrent", () => {
  it("keeps the order and the bound", async () => {
    let running = 0;
    let most = 0;
    const items = Array.from({ length: 20 }, (_, index) => index);
    const results = await mapConcurrent(items, 3, async (item) => {
      most = Math.max(most, ++running);
      for (let wait = 0; wait < (item * 7) % 5; wait += 1) await setImmediate();
      running -= 1;
      return item * 2;
    });
    expect(results).toEqual(items.map((item) => item * 2));
    expect(most).toBe(3);
  });

  it("starts nothing more after a failure", async () => {
    const started: number[] = [];
    const work = mapConcurrent([0, 1, 2, 3, 4], 2, async (item) => {
      started.push(item);
      await setImmediate();
      if (item === 1) throw new Error("one");
    });
    await expect(work).rejects.toThrow("one");
    await setImmediate();
    expect(started.length).toBeLessThan(5);
  });

  it("ends at once when the signal fires, though a task never does", async () => {
    const controller = new AbortController();
    const work = mapConcurrent([0, 1], 2, () => new Promise(() => {}), controller.signal);
    controller.abort(new Error("stop"));
    await expect(work).rejects.toThrow("stop");
    await expect(mapConcurrent([0], 1, () => 1, controller.signal)).rejects.toThrow("stop");
  });

  it("ends at once when the signal fires while its first tasks start", async () => {
    const controller = new AbortController();
    const abort = (): Promise<never> => {
      controller.abort(new Error("stop"));
      return new Promise(() => {});
    };
    await expect(mapConcurrent([0, 1], 2, abort, controller.signal)).rejects.toThrow("stop");
    expect(getEventListeners(controller.signal, "abort")).toHaveLength(0);
  });

  it("leaves no listener behind", async () => {
    const { signal } = new AbortController();
    await mapConcurrent([1, 2], 1, (item) => item, signal);
    expect(getEventListeners(signal, "abort")).toHaveLength(0);
    expect(await mapConcurrent([], 4, () => 1)).toEqual([]);
  });
});
