import { describe, expect, it } from "@jest/globals";
import { RolloutRouter } from "../../core/agent/rollout-router.ts";
import type { SamplingParams } from "../../core/engine/rollout-engine.ts";
import { FakeRollout, generation } from "./fake-rollout.ts";

const SAMPLING: SamplingParams = { temperature: 1, top_k: -1, top_p: 1, stop_token_ids: [], max_tokens: 4, seed: 0 };
const PROMPT = Int32Array.of(1);

/** Servers that answer when they are told to. */
function servers(count: number) {
  const waiting: (() => void)[][] = Array.from({ length: count }, () => []);
  const engines = waiting.map(
    (queue) => new FakeRollout(() => new Promise((resolve) => queue.push(() => resolve(generation([5]))))),
  );
  const finish = async (server: number): Promise<void> => {
    waiting[server]!.splice(0).forEach((done) => done());
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { engines, finish, load: () => waiting.map((queue) => queue.length), router: new RolloutRouter(engines) };
}

describe("RolloutRouter", () => {
  it("spreads conversations by what is under way, not by what ever was", async () => {
    const { router, load, finish } = servers(3);
    const ask = (sticky: string): Promise<unknown> => router.generate(PROMPT, SAMPLING, { sticky });
    const first = Array.from({ length: 9 }, (_, index) => ask(`a${index}`));
    expect(load()).toEqual([3, 3, 3]);
    await finish(1);
    const second = Array.from({ length: 3 }, (_, index) => ask(`b${index}`));
    expect(load()).toEqual([3, 3, 3]);
    await Promise.all([0, 1, 2].map(finish));
    await Promise.all([...first, ...second]);
  });

  it("keeps a conversation at its server, also when others are idle", async () => {
    const { router, engines, finish } = servers(4);
    for (const sticky of ["x", "y", "z"]) {
      for (let turn = 0; turn < 3; turn += 1) {
        const answer = router.generate(PROMPT, SAMPLING, { sticky });
        await Promise.all([0, 1, 2, 3].map(finish));
        await answer;
      }
    }
    const calls = engines.map((engine) => engine.calls.length);
    expect(calls.every((count) => count % 3 === 0)).toBe(true);
    expect(calls.reduce((sum, count) => sum + count, 0)).toBe(9);
  });

  it("gives a conversation to another server when its own failed it, and counts it off", async () => {
    const broken = new FakeRollout(() => Promise.reject(new Error("down")));
    const busy = new FakeRollout(() => generation([5]));
    const router = new RolloutRouter([broken, busy]);
    const outcomes = await Promise.allSettled(
      Array.from({ length: 10 }, (_, index) => router.generate(PROMPT, SAMPLING, { sticky: `s${index}` })),
    );
    const failed = outcomes.flatMap(({ status }, index) => (status === "rejected" ? [index] : []));
    expect(failed.length).toBe(5);
    const again = (index: number) => router.generate(PROMPT, SAMPLING, { sticky: `s${index}` });
    const retried = await Promise.allSettled(failed.map(again));
    expect(retried.filter(({ status }) => status === "fulfilled").length).toBeGreaterThan(0);
  });

  it("tells weights, sleep and the end to all, and has the version that all have", async () => {
    const told: string[] = [];
    const tell = (word: string): Promise<void> => Promise.resolve(void told.push(word));
    const engine = (weightVersion: number) =>
      Object.assign(new FakeRollout(() => generation([])), {
        weightVersion,
        updateWeights: () => tell("weights"),
        sleep: () => tell("sleep"),
        wake: () => tell("wake"),
        abort: () => tell("abort"),
        dispose: () => void told.push("dispose"),
      });
    const router = new RolloutRouter([engine(3), engine(2)]);
    expect(router.weightVersion).toBe(2);
    await router.updateWeights(new Map());
    await router.sleep([]);
    await router.wake([]);
    await router.abort();
    router.dispose();
    expect(told).toEqual(["weights", "sleep", "wake", "abort", "dispose"].flatMap((word) => [word, word]));
  });
});
