import { getEventListeners } from "node:events";
import { setImmediate, setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "@jest/globals";
import { AgentLoop, type AgentContext, type AgentSample } from "../../core/agent/agent-loop.ts";
import { LoopRunner, type LoopRunnerOptions } from "../../core/agent/loop-runner.ts";
import { RolloutRouter } from "../../core/agent/rollout-router.ts";
import { TrajectoryRecorder, type Trajectory } from "../../core/agent/trajectory.ts";
import { DataProto } from "../../core/batch/data-proto.ts";
import { NdArray } from "../../core/batch/nd-array.ts";
import { VerlError } from "../../core/errors/index.ts";
import { createRng } from "../../core/tensor/rng.ts";
import { SingleTurnAgentLoop } from "../../plugins/agent-loop/single-turn.ts";
import { errorOf, recordingLogger } from "../data/helpers.ts";
import { FakeRollout, generation } from "./fake-rollout.ts";

const SAMPLING = { temperature: 1, top_k: -1, top_p: 1, stop_token_ids: [3] };

/** Prompts [10 + i] with `n` rows each, left-padded to two tokens. */
function prompts(count: number, n: number, columns: Record<string, unknown[]> = {}): DataProto {
  const ids = Int32Array.from({ length: count * 2 }, (_, at) => (at % 2 === 0 ? 0 : 10 + (at - 1) / 2));
  const mask = Int32Array.from(ids, (id) => Number(id > 0));
  return new DataProto({
    batch: { prompts: new NdArray("int32", [count, 2], ids), attention_mask: new NdArray("int32", [count, 2], mask) },
    nonTensorBatch: {
      raw_prompt: Array.from({ length: count }, (_, index) => [{ role: "user", content: `p${index}` }]),
      uid: Array.from({ length: count }, (_, index) => `u${index}`),
      ...columns,
    },
    metaInfo: { global_steps: 3 },
  }).repeat(n);
}

function runnerOf(options: Partial<LoopRunnerOptions> = {}): {
  runner: LoopRunner;
  log: ReturnType<typeof recordingLogger>;
} {
  const log = recordingLogger();
  const runner = new LoopRunner({
    rollout: new FakeRollout(([token]) => generation([token! + 10, 3])),
    createLoop: () => new SingleTurnAgentLoop(),
    defaultLoop: "single_turn_agent",
    promptLength: 2,
    responseLength: 3,
    padTokenId: 0,
    log,
    ...options,
  });
  return { runner, log };
}

const run = (seed = 0, signal = new AbortController().signal) => ({
  sampling: SAMPLING,
  rng: createRng(seed),
  validate: false,
  signal,
});

/** A loop made of a function. */
function loopOf(act: (sample: AgentSample, ctx: AgentContext) => Promise<Trajectory>): AgentLoop {
  return new (class extends AgentLoop {
    run(sample: AgentSample, ctx: AgentContext): Promise<Trajectory> {
      return act(sample, ctx);
    }
  })();
}

const answer = (sample: AgentSample, token = 5): Trajectory => {
  const recorder = new TrajectoryRecorder(sample.promptIds);
  recorder.sampled(generation([token]));
  return recorder.end({ stopReason: "stop", numTurns: 2 });
};

describe("LoopRunner with the single-turn loop", () => {
  it("answers every row in order and keeps its columns", async () => {
    const { runner } = runnerOf();
    const { batch, keptRows, metrics } = await runner.run(prompts(2, 2, { extra: ["x", "y"] }), run());
    expect([...batch.tensor("responses", "int32").data]).toEqual([20, 3, 0, 20, 3, 0, 21, 3, 0, 21, 3, 0]);
    expect([...batch.tensor("prompts", "int32").data]).toEqual([0, 10, 0, 10, 0, 11, 0, 11]);
    expect(batch.column("extra")).toEqual(["x", "x", "y", "y"]);
    expect(batch.column("uid")).toEqual(["u0", "u0", "u1", "u1"]);
    expect(batch.column("stop_reason")).toEqual(["stop", "stop", "stop", "stop"]);
    expect(batch.metaInfo).toEqual({ global_steps: 3 });
    expect([...keptRows]).toEqual([0, 1, 2, 3]);
    expect(metrics).toMatchObject({
      "agent_loop/retries": 0,
      "agent_loop/dropped_groups": 0,
      "agent_loop/num_turns/mean": 2,
      "agent_loop/cut_responses": 0,
    });
  });

  it("tells of each answer as its trajectory ends, as the batch will have it", async () => {
    const gates = new Map<number, () => void>();
    const told: DataProto[] = [];
    const { runner } = runnerOf({
      rollout: new FakeRollout(async ([token]) => {
        await new Promise<void>((resolve) => gates.set(token!, resolve));
        return generation([token! + 10, 3]);
      }),
    });
    const running = runner.run(prompts(3, 1), { ...run(), onTrajectory: (row) => void told.push(row) });
    for (const token of [12, 10, 11]) {
      await setImmediate();
      gates.get(token)!();
      await setImmediate();
      expect(told.at(-1)!.tensor("responses", "int32").data[0]).toBe(token + 10);
    }
    const { batch } = await running;
    expect(told.map((row) => row.column("uid")[0])).toEqual(["u2", "u0", "u1"]);
    for (const [at, row] of [2, 0, 1].entries()) expect(told[at]!.equals(batch.index([row]))).toBe(true);
  });

  it("tells of an answer that was tried again once", async () => {
    const told: unknown[] = [];
    let failures = 1;
    const createLoop = () =>
      loopOf((sample) => (failures-- > 0 ? Promise.reject(new Error("lost")) : Promise.resolve(answer(sample))));
    const onTrajectory = (row: DataProto): void => void told.push(row.column("uid")[0]);
    await runnerOf({ createLoop, retryDelay: 0 }).runner.run(prompts(2, 1), { ...run(), onTrajectory });
    expect(told.sort()).toEqual(["u0", "u1"]);
  });

  it.each([1, Infinity])(
    "tries a trajectory again that cannot be used, then drops its group (%d faults)",
    async (faults) => {
      let left = faults;
      const told: unknown[] = [];
      const onTrajectory = (row: DataProto): void => void told.push(row.column("uid")[0]);
      const createLoop = () =>
        loopOf((sample) => {
          const isFaulty = sample.uid === "u1" && left-- > 0;
          return Promise.resolve({ ...answer(sample), ...(isFaulty && { promptIds: new Int32Array(9) }) });
        });
      const { runner, log } = runnerOf({ createLoop, retryDelay: 0, maxRetries: 1 });
      const { keptRows, metrics } = await runner.run(prompts(3, 1), { ...run(), onTrajectory });
      expect([...keptRows]).toEqual(faults === 1 ? [0, 1, 2] : [0, 2]);
      expect(told.length).toBe(keptRows.length);
      expect(metrics).toMatchObject({ "agent_loop/retries": 1, "agent_loop/dropped_groups": faults === 1 ? 0 : 1 });
      if (faults > 1) expect(log.lines.join()).toContain("9 tokens; 1 to 2 are allowed");
    },
  );

  it("holds trajectories to the vocabulary of the engine's model, where that is told", async () => {
    const rollout = new FakeRollout(() => generation([99]));
    const known = Object.assign(new FakeRollout(() => generation([99])), { vocabSize: 99 });
    expect((await runnerOf({ rollout }).runner.run(prompts(1, 1), run())).batch.length).toBe(1);
    await expect(
      runnerOf({ rollout: new RolloutRouter([rollout, known]), maxRetries: 0 }).runner.run(prompts(1, 1), run()),
    ).rejects.toThrow("the id 99 (token 0), outside the vocabulary of 99");
  });

  it("asks for the response's own limit and gives each row its own seed, the same for the same run", async () => {
    const seeds = async (seed: number): Promise<number[]> => {
      const rollout = new FakeRollout(() => generation([5]));
      await runnerOf({ rollout }).runner.run(prompts(2, 3), run(seed));
      expect(rollout.calls.map(({ sampling }) => sampling.max_tokens)).toEqual([3, 3, 3, 3, 3, 3]);
      // Rows of one prompt share its array.
      expect(rollout.calls[0]!.promptIds).toBe(rollout.calls[2]!.promptIds);
      return rollout.calls.map(({ sampling }) => sampling.seed);
    };
    const first = await seeds(1);
    expect(new Set(first).size).toBe(6);
    expect(await seeds(1)).toEqual(first);
    expect(await seeds(2)).not.toEqual(first);
  });

  it("starts every request before it waits for one, so that an engine can batch them", async () => {
    let waiting = 0;
    let release = (): void => {};
    const all = new Promise<void>((resolve) => (release = resolve));
    const rollout = new FakeRollout(async () => {
      if (++waiting === 64) release();
      await all;
      return generation([5]);
    });
    const { batch } = await runnerOf({ rollout }).runner.run(prompts(8, 8), run());
    expect(batch.length).toBe(64);
  });
});

describe("LoopRunner with other loops", () => {
  it("picks the loop by agent_name, and an unknown one ends the run before it starts", async () => {
    const created: string[] = [];
    const createLoop = (key: string): AgentLoop => {
      created.push(key);
      if (key === "nobody") throw new Error("unknown agent loop");
      return loopOf((sample) => Promise.resolve(answer(sample, key === "special" ? 7 : 6)));
    };
    const { runner } = runnerOf({ createLoop, defaultLoop: "usual" });
    const { batch } = await runner.run(prompts(2, 2, { agent_name: ["special", null] }), run());
    expect([...batch.tensor("responses", "int32").data]).toEqual([7, 0, 0, 7, 0, 0, 6, 0, 0, 6, 0, 0]);
    expect(created).toEqual(["special", "usual"]);
    await expect(runner.run(prompts(1, 1, { agent_name: ["nobody"] }), run())).rejects.toThrow("unknown agent loop");
    // A name that is no text is looked for, and not passed over.
    const before = created.length;
    await runner.run(prompts(1, 1, { agent_name: [5] }), run());
    expect(created.slice(before)).toEqual(["5"]);
  });

  it("gives a loop its sample, and its metrics a place", async () => {
    const samples: AgentSample[] = [];
    const added: [string, number][] = [];
    const loop = loopOf((sample, ctx) => {
      samples.push(sample);
      ctx.metric("tool/calls", 1);
      return Promise.resolve(answer(sample));
    });
    const { runner } = runnerOf({
      createLoop: () => loop,
      metrics: { add: (name, value) => void added.push([name, value]) },
    });
    await runner.run(prompts(1, 2, { level: ["hard"] }), { ...run(), validate: true });
    expect(samples.map(({ sampleIndex }) => sampleIndex)).toEqual([0, 1]);
    expect(samples[1]).toMatchObject({
      messages: [{ role: "user", content: "p0" }],
      uid: "u0",
      validate: true,
      row: { level: "hard", uid: "u0" },
    });
    expect([...samples[1]!.promptIds]).toEqual([10]);
    expect(added).toEqual([
      ["tool/calls", 1],
      ["tool/calls", 1],
    ]);
  });

  it("tries a failing row again, then drops its group and keeps the others whole (case 80)", async () => {
    const attempts = new Map<string, number>();
    const loop = loopOf(async (sample) => {
      const id = `${sample.uid}/${sample.sampleIndex}`;
      attempts.set(id, (attempts.get(id) ?? 0) + 1);
      await setImmediate();
      if (id === "u0/3") throw new Error("net");
      return answer(sample);
    });
    const { runner, log } = runnerOf({ createLoop: () => loop });
    const { batch, keptRows, metrics } = await runner.run(prompts(2, 4), run());
    expect(attempts.get("u0/3")).toBe(3);
    expect(batch.column("uid")).toEqual(["u1", "u1", "u1", "u1"]);
    expect([...keptRows]).toEqual([4, 5, 6, 7]);
    expect(metrics).toMatchObject({
      "agent_loop/retries": 2,
      "agent_loop/dropped_groups": 1,
      "agent_loop/dropped_rows": 4,
    });
    expect(log.lines).toHaveLength(1);
    expect(log.lines[0]).toMatch(/prompt u0: its answer 3 failed.*Error: net\n\s+at /s);
  });

  it("tries again with another seed, an aborted generation too", async () => {
    const seeds: number[] = [];
    const rollout = new FakeRollout((_, { seed }) => {
      seeds.push(seed);
      return generation([5], seeds.length === 1 ? "abort" : "stop");
    });
    const { batch, metrics } = await runnerOf({ rollout }).runner.run(prompts(1, 1), run());
    expect(batch.length).toBe(1);
    expect(metrics["agent_loop/retries"]).toBe(1);
    expect(seeds[1]).not.toBe(seeds[0]);
  });

  it("tells a cause once, however many groups it strikes", async () => {
    const loop = loopOf((sample) => {
      if (sample.uid === "u0") return Promise.resolve(answer(sample));
      return Promise.reject(new Error(sample.uid === "u1" ? "net" : "disk"));
    });
    const { runner, log } = runnerOf({ createLoop: () => loop, maxRetries: 0 });
    const { metrics } = await runner.run(prompts(60, 2), run());
    expect(metrics["agent_loop/dropped_groups"]).toBe(59);
    expect(log.lines).toHaveLength(2);
    expect(log.lines[0]).toMatch(/57 more groups were dropped for the same reason\. Error: disk/);
    expect(log.lines[1]).toMatch(/prompt u1: its answer 0 failed every time\. Error: net/);
    const each = loopOf((sample) =>
      sample.uid === "u0" ? Promise.resolve(answer(sample)) : Promise.reject(new Error(`no ${sample.uid}`)),
    );
    const many = runnerOf({ createLoop: () => each, maxRetries: 0 });
    await many.runner.run(prompts(60, 1), run());
    expect(many.log.lines).toHaveLength(4);
    expect(many.log.lines[3]).toContain("56 more groups for other reasons");
  });

  it("tells apart whatever is thrown, be it no error at all", async () => {
    const thrown = [Object.create(null), { code: 5 }, { code: 6 }, null] as unknown[];
    const loop = loopOf((sample) => {
      if (sample.uid === "u4") return Promise.resolve(answer(sample));
      throw thrown[Number(sample.uid.slice(1))];
    });
    const { runner, log } = runnerOf({ createLoop: () => loop, maxRetries: 0 });
    const { metrics } = await runner.run(prompts(5, 1), run());
    expect(metrics["agent_loop/dropped_groups"]).toBe(4);
    expect(log.lines).toHaveLength(4);
    expect(log.lines.join("\n")).toMatch(/\{ code: 5 \}[^]*\{ code: 6 \}/);
  });

  it("says nothing but the error when one cause strikes every group", async () => {
    const loop = loopOf(() => Promise.reject(new Error("server down")));
    const { runner, log } = runnerOf({ createLoop: () => loop, maxRetries: 0 });
    const error = await errorOf(() => runner.run(prompts(40, 2), run()));
    expect(error.message).toContain("all 40 groups failed by the same error: server down");
    expect(log.lines).toEqual([]);
  });

  it("says what to do about the cause, where it knows", async () => {
    const cause = new VerlError("VERL_AGENT_FUNCTION", "no answer", { hint: "Use the baseURL." });
    const loop = loopOf(() => Promise.reject(cause));
    const { runner } = runnerOf({ createLoop: () => loop, maxRetries: 0 });
    expect((await errorOf(() => runner.run(prompts(2, 1), run()))).hint).toMatch(/^Use the baseURL\.\n/);
    const some = loopOf((sample) => (sample.uid === "u0" ? Promise.resolve(answer(sample)) : Promise.reject(cause)));
    const { runner: other, log } = runnerOf({ createLoop: () => some, maxRetries: 0 });
    await other.run(prompts(2, 1), run());
    expect(log.lines.join()).toContain("Use the baseURL.");
  });

  it("makes each loop ready once, before any sample, and ends with what that throws", async () => {
    const events: string[] = [];
    const loop = loopOf((sample) => (events.push("run"), Promise.resolve(answer(sample))));
    loop.prepare = async () => {
      await setImmediate();
      events.push("ready");
    };
    const { runner } = runnerOf({ createLoop: () => loop });
    await Promise.all([runner.run(prompts(2, 1), run()), runner.run(prompts(1, 1), run())]);
    expect(events).toEqual(["ready", "run", "run", "run"]);

    const broken = loopOf((sample) => (events.push("never"), Promise.resolve(answer(sample))));
    broken.prepare = () => Promise.reject(new VerlError("VERL_AGENT_FUNCTION", "exports nothing"));
    const { runner: other } = runnerOf({ createLoop: () => broken });
    expect(await errorOf(() => other.run(prompts(2, 2), run()))).toMatchObject({ code: "VERL_AGENT_FUNCTION" });
    expect(events).not.toContain("never");
  });

  it("waits for no loop that is not ready when the run ends", async () => {
    const loop = loopOf((sample) => Promise.resolve(answer(sample)));
    loop.prepare = () => new Promise(() => undefined);
    const controller = new AbortController();
    const running = errorOf(() =>
      runnerOf({ createLoop: () => loop }).runner.run(prompts(1, 1), run(0, controller.signal)),
    );
    controller.abort(new Error("stopped"));
    expect((await running).message).toBe("stopped");
  });

  it("fails with the first error when no group is left", async () => {
    const loop = loopOf(() => Promise.reject(new Error("server down")));
    const error = await errorOf(() =>
      runnerOf({ createLoop: () => loop, maxRetries: 0 }).runner.run(prompts(2, 2), run()),
    );
    expect(error.code).toBe("VERL_AGENT_LOOP_FAILED");
    expect(error.message).toContain("server down");
  });

  it("bounds what is under way, and ends when the run is stopped", async () => {
    let running = 0;
    let most = 0;
    const loop = loopOf(async (sample) => {
      most = Math.max(most, ++running);
      await setImmediate();
      running -= 1;
      return answer(sample);
    });
    await runnerOf({ createLoop: () => loop, maxConcurrent: 3 }).runner.run(prompts(4, 4), run());
    expect(most).toBe(3);

    const controller = new AbortController();
    const stuck = loopOf(() => new Promise(() => {}));
    const work = runnerOf({ createLoop: () => stuck }).runner.run(prompts(2, 2), run(0, controller.signal));
    controller.abort(new Error("stopped"));
    await expect(work).rejects.toThrow("stopped");
  });

  it("waits for no peer of a dropped group that does not listen, and tells of it", async () => {
    const loop = loopOf(({ uid, sampleIndex, promptIds }) => {
      if (uid === "u1") return Promise.resolve(answer({ uid, promptIds } as AgentSample));
      return sampleIndex === 0 ? Promise.reject(new Error("net")) : new Promise(() => undefined);
    });
    const { runner, log } = runnerOf({ createLoop: () => loop, retryDelay: 0, timeout: null });
    const { keptRows, metrics } = await runner.run(prompts(2, 8), run());
    expect([...keptRows]).toEqual([8, 9, 10, 11, 12, 13, 14, 15]);
    expect(metrics["agent_loop/abandoned_loops"]).toBe(7);
    expect(log.lines[0]).toContain("7 agent loops did not end within 2 s of being told to");
    expect(log.lines[0]).toContain("single_turn_agent for answer 1 of prompt u0");
    expect(log.lines[0]).toContain("and 4 more");
  });

  it("gives loops that listen the time to end with a stopped run, and those that do not two seconds", async () => {
    const ended: string[] = [];
    const loop = loopOf(async ({ uid }, { signal }) => {
      await new Promise<void>((resolve) => {
        if (uid === "u0") signal.addEventListener("abort", () => resolve(), { once: true });
      });
      await sleep(50);
      ended.push(uid);
      throw signal.reason;
    });
    const stop = async (batch: DataProto) => {
      const controller = new AbortController();
      const { runner, log } = runnerOf({ createLoop: () => loop });
      const work = runner.run(batch, run(0, controller.signal));
      controller.abort(new Error("stopped"));
      const started = performance.now();
      await expect(work).rejects.toThrow("stopped");
      return { lines: log.lines, seconds: (performance.now() - started) / 1000 };
    };
    expect((await stop(prompts(1, 1))).lines).toEqual([]);
    expect(ended).toEqual(["u0"]);
    const { lines, seconds } = await stop(prompts(2, 1));
    expect(lines).toEqual([expect.stringContaining("1 agent loops did not end")]);
    expect(seconds).toBeGreaterThan(1.9);
    expect(seconds).toBeLessThan(15);
  });

  it("lets a loop end behind a stopped run though its engine does not listen", async () => {
    let released = 0;
    const rollout = new FakeRollout(() => new Promise(() => undefined));
    const loop = loopOf(async (sample, ctx) => {
      try {
        await ctx.rollout.generate(sample.promptIds, ctx.sampling, { signal: ctx.signal });
      } finally {
        released += 1;
      }
      return answer(sample);
    });
    const controller = new AbortController();
    const { runner, log } = runnerOf({ createLoop: () => loop, rollout });
    const work = runner.run(prompts(2, 2), run(0, controller.signal));
    await setImmediate();
    controller.abort(new Error("stopped"));
    await expect(work).rejects.toThrow("stopped");
    expect(released).toBe(4);
    expect(log.lines).toEqual([]);
  });

  it("generates nothing more for an attempt that is over, and ends its requests with it", async () => {
    const signals: (AbortSignal | undefined)[] = [];
    const rollout = new FakeRollout(() => generation([5]));
    const generate = rollout.generate.bind(rollout);
    rollout.generate = (ids, sampling, options?: { signal?: AbortSignal }) => {
      signals.push(options?.signal);
      return generate(ids, sampling);
    };
    let after: unknown;
    const loop = loopOf(async (sample, ctx) => {
      await ctx.rollout.generate(sample.promptIds, ctx.sampling);
      await sleep(60);
      after = await ctx.rollout.generate(sample.promptIds, ctx.sampling).catch((error: unknown) => error);
      return answer(sample);
    });
    const { runner } = runnerOf({ createLoop: () => loop, rollout, timeout: 0.02, maxRetries: 0 });
    await expect(runner.run(prompts(1, 1), run())).rejects.toThrow(
      "timed out after 0.02 s (actor_rollout_ref.rollout.agent.sample_timeout_s)",
    );
    await sleep(100);
    expect(rollout.calls).toHaveLength(1);
    expect(signals[0]?.aborted).toBe(true);
    expect(String(after)).toContain("timed out");
  });

  it("pauses thousands of rows without a listener for each, and stops them at once", async () => {
    const { signal } = new AbortController();
    let failures = 0;
    let most = 0;
    const loop = loopOf((sample) => {
      most = Math.max(most, getEventListeners(signal, "abort").length);
      if (failures++ < 3000) return Promise.reject(new Error("net"));
      return Promise.resolve(answer(sample));
    });
    const { runner } = runnerOf({ createLoop: () => loop, retryDelay: 0.05 });
    const { metrics } = await runner.run(prompts(300, 10), run(0, signal));
    expect(metrics["agent_loop/retries"]).toBe(3000);
    expect(most).toBeLessThan(5);

    const stop = new AbortController();
    const broken = loopOf(() => Promise.reject(new Error("net")));
    const work = runnerOf({ createLoop: () => broken, retryDelay: 1e9 }).runner.run(prompts(2, 2), run(0, stop.signal));
    await setImmediate();
    stop.abort(new Error("stopped"));
    await expect(work).rejects.toThrow("stopped");
  });

  it("answers an empty batch with an empty batch", async () => {
    const { batch, keptRows } = await runnerOf().runner.run(prompts(1, 1).slice(0, 0), run());
    expect([batch.length, keptRows.length]).toEqual([0, 0]);
    expect(batch.tensor("responses").shape).toEqual([0, 3]);
  });
});
