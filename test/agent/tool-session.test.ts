import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "@jest/globals";
import { ToolSession } from "../../core/agent/tool-session.ts";
import { Tool } from "../../core/agent/tool.ts";
import { errorOf } from "../data/helpers.ts";

const never = (): Promise<never> => new Promise(() => undefined);

/** A session with one tool `odd`, as JavaScript may have it: methods that return and throw anything. */
function open(methods: Record<string, (...args: never[]) => unknown>, { maxLength = 1000, maxParallel = 4 } = {}) {
  const events: string[] = [];
  const metrics: Record<string, number> = {};
  const notes: string[] = [];
  const schema = { type: "function", function: { name: "odd", parameters: {} } } as const;
  class Odd extends Tool {
    readonly schema = schema;
    override create = (): Promise<string> => Promise.resolve("id");
    execute = (): Promise<never> => Promise.reject(new Error("no execute"));
    override release = (id: string): Promise<void> => {
      events.push(`release ${id}`);
      return Promise.resolve();
    };
  }
  const tool = Object.assign(new Odd(), methods) as Tool;
  const controller = new AbortController();
  const limits = { maxParallel, timeout: 0.1, maxLength, truncateSide: "right" as const };
  const session = new ToolSession(
    new Map([["odd", { tool, schema, faults: () => undefined }]]),
    { row: {} } as never,
    {
      signal: controller.signal,
      metric: (name: string, value: number) => void (metrics[name] = (metrics[name] ?? 0) + value),
      toolCalled: (_: number, note: { outcome: string }) => void notes.push(note.outcome),
    } as never,
    {},
    limits,
  );
  const call = async (count = 1): Promise<unknown[]> =>
    (await session.run(Array.from({ length: count }, () => ({ name: "odd", arguments: {} }) as never))).map(
      ({ content }) => content,
    );
  return { session, call, events, metrics, notes, controller, limits };
}

const NO_REWARDS: [unknown, string][] = [
  [NaN, "NaN"],
  [-Infinity, "-Infinity"],
  ["1.0", 'the string "1.0"'],
  [1n, "a bigint"],
  [{ score: 1 }, "an object"],
];
const ERROR = "Error when executing tool:";
const LATE = `${ERROR} timed out after 0.1 s`;

describe("an instance", () => {
  it.each([
    ["hangs", never],
    ["throws at once", () => raise("no reward")],
    ["rejects", () => Promise.reject(new Error("no reward"))],
  ])("is released when its calcReward %s", async (_, calcReward) => {
    const { session, call, events, metrics } = open({ execute: () => Promise.resolve("ok"), calcReward });
    expect(await call()).toEqual(["ok"]);
    expect(await session.close()).toEqual({});
    expect(events).toEqual(["release id"]);
    expect(metrics).toEqual({ "agent_loop/tool_reward_failed_count": 1 });
  });

  it.each([
    ["hangs", never],
    ["throws at once", () => raise("no release")],
  ])("whose release %s keeps its reward, and holds the sample no longer than a call may take", async (_, release) => {
    const { session, call, metrics } = open({ execute: () => "ok", calcReward: () => 0.5, release });
    await call();
    const before = performance.now();
    expect(await session.close()).toEqual({ odd: 0.5 });
    expect(performance.now() - before).toBeLessThan(10_000);
    expect(metrics).toEqual({ "agent_loop/release_failed_count": 1 });
  });

  it("that opens when the sample is over holds it no longer than a call may take", async () => {
    const { session, call, controller } = open({ create: never });
    const calls = call().catch(() => undefined);
    await sleep(5);
    controller.abort(new Error("stopped"));
    await calls;
    const before = performance.now();
    expect(await session.close()).toEqual({});
    expect(performance.now() - before).toBeLessThan(10_000);
  });

  it.each(NO_REWARDS)("whose calcReward gives %p costs the sample, once it is released", async (given, words) => {
    const { session, call, events } = open({ execute: () => "ok", calcReward: () => given });
    await call();
    const error = await errorOf(() => session.close());
    expect(error.code).toBe("VERL_AGENT_REWARD");
    expect(error.message).toBe(`calcReward of the tool "odd" gave ${words} as a reward.`);
    expect(events).toEqual(["release id"]);
  });

  it("is released, and nobody asks for its reward, when the sample was ended", async () => {
    const { session, call, events, controller } = open({
      execute: () => "ok",
      calcReward: () => events.push("reward"),
    });
    await call();
    controller.abort(new Error("stopped"));
    expect(await session.close()).toEqual({});
    expect(events).toEqual(["release id"]);
  });

  it("that does not open costs its deadline once, and is released when it comes", async () => {
    let arrive: (id: string) => void;
    const { session, call, events, notes, limits } = open({
      create: () => new Promise<string>((resolve) => (arrive = resolve)),
      execute: () => "ok",
    });
    expect(await call(2)).toEqual([LATE, LATE]);
    // None of what follows waits for a deadline: this one is longer than a test may take.
    limits.timeout = 3600;
    expect(await call(2)).toEqual(Array(2).fill(`${ERROR} it did not open in time`));
    await session.close();
    expect(notes).toEqual(["timeout", "timeout", "error", "error"]);
    arrive!("late");
    await sleep(5);
    expect(events).toEqual(["release late"]);
  });

  it("that opens between two calls is of use to the second", async () => {
    let arrive: (id: string) => void;
    const { call } = open({
      create: () => new Promise<string>((resolve) => (arrive = resolve)),
      execute: () => "ok",
    });
    expect(await call()).toEqual([LATE]);
    arrive!("id");
    await sleep(0);
    expect(await call()).toEqual(["ok"]);
  });

  it("that could not be opened is opened by the next call", async () => {
    let tries = 0;
    const { call, session, events } = open({
      create: () => (tries++ === 0 ? raise("full") : "id"),
      execute: () => "ok",
    });
    expect([...(await call()), ...(await call())]).toEqual([`${ERROR} full`, "ok"]);
    await session.close();
    expect(events).toEqual(["release id"]);
  });
});

describe("a tool that nothing has checked", () => {
  it.each([
    ["text", "ok", "ok"],
    ["a promise of text", Promise.resolve("ok"), "ok"],
    ["a result at once", { content: "ok", reward: null }, "ok"],
    ["parts", { content: [{ type: "text", text: "ok" }] }, [{ type: "text", text: "ok" }]],
  ])("may return %s", async (_, returned, content) => {
    expect(await open({ create: () => "id", execute: () => returned }).call()).toEqual([content]);
  });

  it.each([
    [undefined, "returned undefined;"],
    [null, "returned null;"],
    [42, "returned a number;"],
    [["a"], "returned a list;"],
    [{}, "returned undefined as content;"],
    [{ content: 3 }, "returned a number as content;"],
    [{ content: ["a"] }, "returned parts that are no objects as content;"],
  ])("is told what is wrong with %j", async (returned, what) => {
    const [content] = await open({ execute: () => returned }).call();
    expect(content).toContain(`${ERROR} the tool "odd" ${what} its execute must return text, or { content, reward }`);
  });

  it.each(NO_REWARDS)("costs the sample when it gives %p as a reward", async (reward, words) => {
    const { call, notes } = open({ execute: () => ({ content: "ok", reward }) });
    for (const count of [1, 2]) {
      const error = await errorOf(() => call(count));
      expect(error.code).toBe("VERL_AGENT_REWARD");
      expect(error.message).toBe(`The tool "odd" gave ${words} as a reward.`);
    }
    expect(notes).toEqual(["ok", "ok", "ok"]);
  });

  it.each([
    [new Error("no luck"), "no luck"],
    ["words", "words"],
    [undefined, "undefined"],
    [Object.create(null), "[Object: null prototype] {}"],
  ])("may throw %p at once", async (thrown, words) => {
    const { call, session, events, notes } = open({
      execute: () => {
        throw thrown;
      },
    });
    expect(await call(3)).toEqual(Array(3).fill(`${ERROR} ${words}`));
    expect(notes).toEqual(["error", "error", "error"]);
    await session.close();
    expect(events).toEqual(["release id"]);
  });

  it("runs no more calls at once than are allowed, whether they throw, hang or answer", async () => {
    let [running, most, count] = [0, 0, 0];
    const { call } = open(
      {
        execute: (...[, , { signal }]: [unknown, unknown, { signal: AbortSignal }]) => {
          const turn = count++ % 3;
          if (turn === 0) throw new Error("no luck");
          most = Math.max(most, ++running);
          if (turn === 1) return sleep(2).then(() => ((running -= 1), "ok"));
          signal.addEventListener("abort", () => void (running -= 1));
          return never();
        },
      },
      { maxParallel: 2 },
    );
    const answers = await call(12);
    expect(answers.map((answer) => String(answer).slice(-7))).toEqual(
      Array(4).fill(["no luck", "ok", "r 0.1 s"]).flat(),
    );
    expect(most).toBe(2);
    expect(running).toBe(0);
  });
});

it("a result of many parts is held to the length as a whole", async () => {
  const content = Array.from({ length: 100_000 }, () => ({ type: "text", text: "x".repeat(100) }));
  const [shown] = await open({ execute: () => ({ content }) }, { maxLength: 250 }).call();
  expect((shown as { text: string }[]).map(({ text }) => text.length)).toEqual([
    100,
    100,
    50 + "...(truncated)".length,
  ]);
});

function raise(message: string): never {
  throw new Error(message);
}
