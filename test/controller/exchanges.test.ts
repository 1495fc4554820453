import { afterAll, beforeAll, describe, expect, it, jest } from "@jest/globals";
import { DataProto } from "../../core/batch/data-proto.ts";
import { DataProtoFuture } from "../../core/controller/data-proto-future.ts";
import { InlineTransport } from "../../core/controller/inline-transport.ts";
import { ThreadTransport } from "../../core/controller/thread/thread-transport.ts";
import type { Transport } from "../../core/controller/transport.ts";
import { WorkerGroup, type GroupOf } from "../../core/controller/worker-group.ts";
import { createLogger } from "../../core/registry/index.ts";
import { failure } from "./failure.ts";
import { loadPlugin } from "./load-dispatch-modes.ts";
import { TcpTransport } from "./tcp-transport.ts";
import { Meeting } from "./workers/meeting.ts";

/* Exchanges between ranks belong to the call in which they are made, wherever the ranks are. */

// The threads' sources are compiled when they start.
jest.setTimeout(300_000);

beforeAll(loadPlugin);

const log = createLogger({ write: () => undefined });
const wait = (milliseconds: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, milliseconds));

const FAILED = "Rank 2 of Meeting failed in half: no such layer";
const INTERRUPTED = `waited for the other ranks, but rank 2 failed: ${FAILED}`;

describe.each<[string, () => Transport]>([
  ["inline", () => new InlineTransport()],
  ["in threads", () => new ThreadTransport()],
  ["over connections", () => new TcpTransport()],
])("ranks %s", (kind, make) => {
  const transport = make();
  let group: GroupOf<Meeting>;

  beforeAll(async () => {
    group = await WorkerGroup.create(Meeting, [], { worldSize: 3, transport, log });
  });

  afterAll(async () => {
    await group.dispose();
    await transport.close();
  });

  /** The ranks' exchanges are in step. */
  const inStep = async (): Promise<void> => {
    const all = [0, 1, 2].map((rank) => ["now", rank]);
    expect(await group.meet("now")).toEqual([all, all, all]);
    for (const length of [5, 6000, 20_000]) {
      expect(await group.sumBeside(1, length, [0, 0, 0])).toEqual([0, 1, 2].map(() => [6, 12, 18]));
    }
  };

  it("exchange in their constructors, whatever calls come meanwhile", async () => {
    await inStep();
    expect(await group.ranks()).toEqual([0, 1, 2].map(() => [0, 1, 2]));
  });

  it("do not wait for one that has failed, though other calls begin before they come to it", async () => {
    const call = failure(group.half(200));
    await wait(50);
    const others = [group.ping(), group.pingBeside()];
    expect((await call).message).toBe(FAILED);
    expect(await Promise.all(others)).toEqual([0, 1].map(() => ["pong", "pong", "pong"]));
    await inStep();
  });

  it.each(["executeAll", "executeAllAsync"] as const)("are told by %s too, and go on in step", async (execute) => {
    for (const delay of [0, 100]) {
      const errors = await Promise.all(group[execute]("half", delay).map(failure));
      expect(errors[2]!.message).toBe(FAILED);
      for (const error of errors.slice(0, 2)) expect(error.message).toContain(INTERRUPTED);
      await inStep();
    }
    expect((await failure(group.executeAllSync("half", 0))).message).toBe(FAILED);
    await inStep();
  });

  it("are told of a failure that comes before their own part has begun", async () => {
    const batch = DataProto.fromSingleDict({ at: [0] });
    const late = new DataProtoFuture(() => wait(100).then(() => batch));
    const errors = await Promise.all(group.executeAll("half", [0, 0, 0], [late, late, batch]).map(failure));
    for (const error of errors.slice(0, 2)) expect(error.message).toContain(INTERRUPTED);
    await inStep();
  });

  it("go on in step after sums of which one is never made", async () => {
    for (const length of [5, 6000]) {
      expect((await failure(group.halfSum(length))).message).toContain("no such layer");
      await inStep();
    }
  });

  it("are not touched by the failure of another call", async () => {
    const innocent = group.meetBeside("a", [250, 0, 0]);
    expect((await failure(group.halfBeside(20))).message).toContain("no such layer");
    expect((await failure(group.half(20))).message).toBe(FAILED);
    expect(await innocent).toEqual([0, 1, 2].map(() => "a0 a1 a2 A0 A1 A2"));
    await inStep();
  });

  it("exchange in calls that overlap without taking one's data for the other's", async () => {
    const calls = [
      group.meetBeside("a", [120, 0, 60]),
      group.meetBeside("b", [0, 120, 30]),
      group.meetBeside("c", [0, 0, 0]),
    ];
    const expected = ["a", "b", "c"].map((call) => {
      const all = [call, call.toUpperCase()].flatMap((value) => [0, 1, 2].map((rank) => value + rank)).join(" ");
      return [all, all, all];
    });
    expect(await Promise.all(calls)).toEqual(expected);
    await inStep();
  });

  it.each([5, 6000, 20_000])("add up in calls that overlap: %d elements", async (length) => {
    const delays = [
      [60, 0, 20],
      [0, 60, 10],
      [0, 0, 0],
    ];
    for (let round = 0; round < 2; round++) {
      const sums = await Promise.all(delays.map((own, call) => group.sumBeside(call + 1, length + call, own)));
      expect(sums).toEqual([1, 2, 3].map((factor) => [0, 1, 2].map(() => [6 * factor, 12 * factor, 18 * factor])));
    }
    await inStep();
  });

  const ended = (rank: number, method: string): string =>
    `waited for the other ranks, but rank ${rank} has ended its part of Meeting.${method} without this exchange.`;

  it.each([
    { times: [0, 1, 1], delays: [0, 50, 0], length: 0 },
    { times: [0, 1, 1], delays: [0, 0, 0], length: 5 },
    { times: [0, 1, 1], delays: [0, 0, 50], length: 6000 },
    { times: [2, 3, 3], delays: [0, 20, 0], length: 0 },
    { times: [2, 3, 2], delays: [20, 0, 0], length: 6000 },
    { times: [1, 2, 2], delays: [50, 0, 0], length: 20_000 },
  ])("do not wait for one that ends its part without them: %j", async ({ times, delays, length }) => {
    const error = await failure(group.meetOften(times, delays, length));
    expect(error).toMatchObject({
      code: "VERL_WORKER_FAILED",
      hint: "Every rank makes the same exchanges in a call, in the same order.",
      details: { method: "meetOften" },
    });
    expect(error.message).toMatch(/^Rank [12] waited/);
    const missing = [0, 2].filter((rank) => times[rank] === Math.min(...times));
    expect(missing.map((rank) => ended(rank, "meetOften"))).toContain(error.message.slice("Rank 1 ".length));
    await inStep();
    // Those that take it calmly are in step, too.
    const results = await group.calmly(times, delays, length);
    expect(results).toContain("met");
    expect(results[1]).toContain("without this exchange");
    await inStep();
  });

  it("wait for one that is late, and are met by one that does not wait", async () => {
    expect(await group.meetOften([3, 3, 3], [30, 0, 10])).toEqual(["met", "met", "met"]);
    expect(await group.leaveBehind(50)).toEqual([[], [0, 1, 2], [0, 1, 2]]);
    await inStep();
  });

  it.each([
    { count: 1, length: 5 },
    { count: 3, length: 5 },
    { count: 1, length: 6000 },
    { count: 3, length: 6000 },
    { count: 5, length: 20_000 },
  ])("add up $count arrays of $length at once, beside an exchange", async ({ count, length }) => {
    const sums = Array.from({ length: count }, (_, index) => 6 * 10 ** index);
    for (const delay of [0, 0, 30]) {
      expect(await group.sumAtOnce(count, length, delay)).toEqual([0, 1, 2].map(() => [0, 1, 2, ...sums]));
    }
    await inStep();
  });

  it.each([5, 6000])("are not left waiting by a sum of %i for which one does not wait", async (length) => {
    const [first, ...others] = await group.leaveSum(length, 50);
    expect(first).toBe("left");
    for (const other of others) expect(other).toMatch(/^summed$|rank 0 has ended its part/);
    await inStep();
  });

  it("do not count an exchange of what cannot be sent", async () => {
    // Nothing is sent to a rank of the same thread.
    if (kind !== "inline") expect(await group.meetAgain()).toEqual([0, 1, 2].map(() => [0, 1, 2]));
  });

  it("refuse to exchange in a call that does not run on all of them", async () => {
    const words = "cannot exchange with ranks on which its call does not run.";
    for (const call of [group.meetAlone(), group.executeRank(1, "meet", 0), group.executeRankZeroSync("meet", 0)]) {
      const error = await failure(call);
      expect(error).toMatchObject({ code: "VERL_WORKER_FAILED", hint: expect.stringContaining("executeAll") });
      expect(error.message).toContain(words);
    }
    await inStep();
  });

  it("refuse to exchange in a call that has ended", async () => {
    await group.leave();
    await group.ping();
    expect(await group.afterwards()).toEqual(
      [0, 1, 2].map((rank) => `Rank ${rank} exchanges with the other ranks after its call has ended.`),
    );
    await inStep();
  });
});
