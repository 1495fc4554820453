import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "@jest/globals";
import { RolloutRouter } from "../../core/agent/rollout-router.ts";
import type { Generation, SamplingParams } from "../../core/engine/rollout-engine.ts";
import { VerlError } from "../../core/errors/index.ts";
import { withDeadline } from "../../core/reward/deadline.ts";
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

  it.each([
    ["throws", () => Promise.reject(new Error("down"))],
    ["throws at once", () => raise("down")],
    ["answers nothing", () => undefined],
    ["answers fewer log-probs than tokens", () => ({ ...generation([5]), logprobs: new Float32Array(0) })],
  ])("a server that %s costs each conversation one attempt, and no conversation its answer", async (_, fault) => {
    const broken = new FakeRollout(fault as () => Generation);
    const fine = [0, 1].map(() => new FakeRollout(() => sleep(5, generation([5]))));
    const router = new RolloutRouter([broken, ...fine], () => 0);
    let failures = 0;
    const converse = async (index: number): Promise<void> => {
      const ask = () => router.generate(PROMPT, SAMPLING, { sticky: `s${index}` });
      await ask().catch(() => ((failures += 1), ask()));
    };
    // One after the other, too: the broken server is always the idlest.
    for (let round = 0; round < 10; round += 1)
      await Promise.all(Array.from({ length: 30 }, (__, index) => converse(round * 30 + index)));
    expect(failures).toBe(broken.calls.length);
    expect(failures).toBe(10);
    expect(Math.abs(fine[0]!.calls.length - fine[1]!.calls.length)).toBeLessThan(60);
  });

  it("spares a server that fails, twice as long each time, tries it by one request, and has it back", async () => {
    const time = { now: 0 };
    let isUp = false;
    const held: (() => void)[] = [];
    const lame = new FakeRollout(async () => {
      if (!isUp) throw new Error("down");
      await new Promise<void>((resolve) => held.push(resolve));
      return generation([5]);
    });
    const fine = new FakeRollout(() => generation([5]));
    const router = new RolloutRouter([lame, fine], () => time.now);
    let conversations = 0;
    const asked = async (times: number): Promise<number> => {
      const before = lame.calls.length;
      const answers = Array.from({ length: times }, () =>
        router.generate(PROMPT, SAMPLING, { sticky: `c${conversations++}` }).catch(() => undefined),
      );
      await new Promise((resolve) => setImmediate(resolve));
      held.splice(0).forEach((done) => done());
      await Promise.all(answers);
      return lame.calls.length - before;
    };
    expect(await asked(20)).toBe(10);
    for (const seconds of [1, 2, 4, 8, 16, 32, 60, 60]) {
      time.now += seconds * 1000 - 1;
      expect(await asked(20)).toBe(0);
      time.now += 1;
      expect(await asked(20)).toBe(1);
    }
    isUp = true;
    time.now += 60_000;
    expect(await asked(20)).toBe(1);
    expect(await asked(20)).toBe(10);
    isUp = false;
    // As at first: it failed once since it answered.
    expect(await asked(20)).toBe(10);
    time.now += 1000;
    expect(await asked(20)).toBe(1);
  });

  it("moves a conversation away from a server that others failed at, or that stalls, and asks all when all fail", async () => {
    let isDown = true;
    const odd = new FakeRollout(() => (isDown ? raise("down") : generation([5])));
    const router = new RolloutRouter([odd, odd]);
    const ask = (sticky: string) => router.generate(PROMPT, SAMPLING, { sticky });
    await Promise.allSettled(["a", "b", "c", "d"].map(ask));
    isDown = false;
    await expect(Promise.all(["a", "b", "e"].map(ask))).resolves.toHaveLength(3);

    const stalls = new FakeRollout(() => new Promise(() => undefined));
    const fine = new FakeRollout(() => generation([5]));
    const two = new RolloutRouter([stalls, fine]);
    const controller = new AbortController();
    void ["x", "y"].map((sticky) => two.generate(PROMPT, SAMPLING, { sticky, signal: controller.signal }));
    expect(stalls.calls).toHaveLength(1);
    controller.abort();
    await Promise.all(
      ["x", "y"].map((sticky) => Promise.race([two.generate(PROMPT, SAMPLING, { sticky }), sleep(50)])),
    );
    expect(stalls.calls.length + fine.calls.length).toBe(4);
    expect(fine.calls.length).toBeGreaterThan(1);
  });

  it("keeps a conversation from a server that is down, be its own the one that refused it or that it left", async () => {
    const says: (() => Generation | Promise<Generation>)[] = [];
    const own = new FakeRollout(() => (says.shift() ?? (() => generation([5])))());
    const other = new FakeRollout(() => raise("down"));
    const router = new RolloutRouter([own, other], () => 0);
    const ask = (sticky: string, signal?: AbortSignal) => router.generate(PROMPT, SAMPLING, { sticky, signal });
    await Promise.allSettled(["a", "b"].map((sticky) => ask(sticky)));
    says.push(() => {
      throw new VerlError("VERL_ROLLOUT_REQUEST", "too long");
    });
    await expect(ask("a")).rejects.toThrow("too long");
    await ask("a");
    says.push(() => new Promise(() => undefined));
    const controller = new AbortController();
    void ask("a", controller.signal);
    controller.abort();
    await ask("a");
    expect([own.calls.length, other.calls.length]).toEqual([5, 1]);
  });

  it("does not count as busy for ever a server that stalled, and spares it like one that failed", async () => {
    const time = { now: 0 };
    let stalls = true;
    const lame = new FakeRollout(() => (stalls ? new Promise(() => undefined) : generation([5])));
    const fine = new FakeRollout(() => sleep(1, generation([5])));
    const router = new RolloutRouter([lame, fine], () => time.now);
    let conversations = 0;
    const ask = () => {
      const sticky = `c${conversations++}`;
      const call = (signal: AbortSignal) => router.generate(PROMPT, SAMPLING, { sticky, signal });
      return withDeadline(0.05, call).catch(() => undefined);
    };
    await Promise.all(Array.from({ length: 10 }, ask));
    expect(lame.calls).toHaveLength(5);
    await Promise.all(Array.from({ length: 10 }, ask));
    expect(lame.calls).toHaveLength(5);
    stalls = false;
    time.now = 1000;
    await Promise.all(Array.from({ length: 10 }, ask));
    await Promise.all(Array.from({ length: 10 }, ask));
    expect(lame.calls.length).toBeGreaterThan(9);
  });

  it.each([
    ["an error of this project", () => new VerlError("VERL_ROLLOUT_REQUEST", "too long")],
    ["a status", () => Object.assign(new Error("too long"), { status: 400 })],
    [
      "a cause's status",
      () => new Error("failed", { cause: Object.assign(new Error("too long"), { statusCode: 413 }) }),
    ],
  ])("spares no server for what a request asks, told by %s", async (_, fault) => {
    expect(await sharesAfter([fault(), fault()])).toEqual([25, 25]);
  });

  it.each([401, 404, 408, 429, 500])("spares a server whose engine throws status %i", async (status) => {
    const shares = await sharesAfter([Object.assign(new Error("no"), { status })]);
    expect(shares.sort((a, b) => a - b)).toEqual([0, 50]);
  });

  it("spreads requests over all servers where one fault has all of them spared, though one has answered since", async () => {
    expect(await sharesAfter([new Error("reset"), new Error("reset")])).toEqual([25, 25]);
  });

  it("asks those that failed once rather than one that fails whenever it is tried, where all are spared", async () => {
    const time = { now: 0 };
    let isShaken = false;
    const down = new FakeRollout(() => raise("down"));
    const shaken = new FakeRollout(() => (isShaken ? raise("reset") : generation([5])));
    const router = new RolloutRouter([down, shaken], () => time.now);
    const ask = (sticky: string) => router.generate(PROMPT, SAMPLING, { sticky }).catch(() => undefined);
    await Promise.all(["a", "b"].map(ask));
    time.now = 1000;
    isShaken = true;
    await Promise.all(["c", "d"].map(ask));
    isShaken = false;
    expect([down.calls.length, shaken.calls.length]).toEqual([2, 2]);
    for (let index = 0; index < 20; index += 1) await ask(`e${index}`);
    expect([down.calls.length, shaken.calls.length]).toEqual([2, 22]);
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

/** How two servers share 50 conversations at a time after one conversation's attempts failed with these errors, one after the other. */
async function sharesAfter(errors: unknown[]): Promise<number[]> {
  const engines = [0, 1].map(
    () =>
      new FakeRollout(() => {
        if (errors.length > 0) throw errors.shift();
        return sleep(1, generation([5]));
      }),
  );
  const router = new RolloutRouter(engines, () => 0);
  const ask = (sticky: string) => router.generate(PROMPT, SAMPLING, { sticky });
  while (errors.length > 0) await ask("a").catch(() => undefined);
  await ask("a");
  const before = engines.map(({ calls }) => calls.length);
  await Promise.all(Array.from({ length: 50 }, (_, index) => ask(`s${index}`)));
  return engines.map(({ calls }, server) => calls.length - before[server]!);
}

function raise(message: string): never {
  throw new Error(message);
}
