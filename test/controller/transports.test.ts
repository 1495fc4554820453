import { getMaxListeners } from "node:events";
import { afterAll, beforeAll, describe, expect, it, jest } from "@jest/globals";
import { DataProto } from "../../core/batch/data-proto.ts";
import { ClassWithInitArgs } from "../../core/controller/class-with-init-args.ts";
import { createColocatedWorkerClass } from "../../core/controller/colocated.ts";
import { InlineTransport } from "../../core/controller/inline-transport.ts";
import { ThreadTransport } from "../../core/controller/thread/thread-transport.ts";
import type { Transport } from "../../core/controller/transport.ts";
import { WorkerGroup, type GroupOf } from "../../core/controller/worker-group.ts";
import { formatError, VerlError } from "../../core/errors/index.ts";
import { createLogger } from "../../core/registry/index.ts";
import { failure } from "./failure.ts";
import { loadPlugin } from "./load-dispatch-modes.ts";
import { TcpTransport } from "./tcp-transport.ts";
import { Contrary, Lost, Noted, Stubborn, Unborn, Unending } from "./workers/contrary.ts";

/* What a group does is the same wherever its ranks are. */

// The threads' sources are compiled when they start.
jest.setTimeout(300_000);

beforeAll(loadPlugin);

const rows = DataProto.fromSingleDict({ ids: Int32Array.of(1, 2, 3) });
const lines: string[] = [];
const log = createLogger({ write: (line) => void lines.push(line) });

describe.each<[string, () => Transport]>([
  ["inline", () => new InlineTransport()],
  ["in threads", () => new ThreadTransport()],
  ["over connections", () => new TcpTransport()],
])("ranks %s", (kind, make) => {
  const transport = make();
  let group: GroupOf<Contrary>;

  beforeAll(async () => {
    group = await WorkerGroup.create(Contrary, [], { worldSize: 3, transport, log });
  });

  afterAll(async () => {
    await group.dispose();
    await transport.close();
  });

  it("outlive whatever a worker throws", async () => {
    const texts = {
      error: "no such layer",
      bare: "an object that cannot be put into words",
      getter: "an object that cannot be put into words",
      object: "in an object",
      facts: '{"a":1,"of":["NaN","[Map of 0]"]}',
      list: '[{"a":1},2]',
      large: `{"a":"${"x".repeat(494)}…`,
      proxy: "an object that cannot be put into words",
      symbol: "Symbol(sign)",
      cause: "outer",
    };
    for (const [what, text] of Object.entries(texts)) {
      const error = await failure(group.throwOn(1, what));
      expect(error.code).toBe("VERL_WORKER_FAILED");
      expect(error.message).toBe(`Rank 1 of Contrary failed in throwOn: ${text}`);
      expect(await group.fine()).toEqual([0, 1, 2]);
    }
  });

  it.each([
    [[5, 10, 10], "rank 0 brings 5 elements of a Float32Array; ranks 1, 2 bring 10 elements of a Float32Array"],
    [[9000, 5, 9000], "ranks 0, 2 bring 9000 elements of a Float32Array; rank 1 brings 5 elements of a Float32Array"],
    [[5000, 5000, 10_000], "ranks 0, 1 bring 5000 elements of a Float32Array; rank 2 brings 10000 elements"],
  ])("are told of arrays of different lengths in a sum, and may go on: %j", async (lengths, words) => {
    for (let round = 0; round < 2; round++) {
      const results = await group.sumOnes(lengths);
      expect(new Set(results).size).toBe(1);
      expect(results[0]).toContain(words);
      for (const length of [7, 6000, 6000, 20_000]) {
        expect(await group.sumOnes([length, length, length])).toEqual(["sum 3", "sum 3", "sum 3"]);
      }
    }
  });

  it.each([4, 6000])("are told of arrays of different types in a sum: %d elements", async (length) => {
    const [first] = await group.sumOnes([length, length, length], true);
    expect(first).toContain(`rank 0 brings ${length} elements of a Float64Array; ranks 1, 2 bring ${length} elements`);
  });

  it.each([
    ["list", "a list"],
    ["word", "a string"],
    ["nothing", "null"],
  ] as const)("say what cannot be added up: %s", async (what, words) => {
    const hint = expect.stringContaining("a Float32Array or a Float64Array");
    const told = (rank: number) => [`Rank ${rank} cannot add up ${words} by peers.sum.`, hint];
    expect(await group.sumOdd(what)).toEqual([0, 1, 2].map(told));
    const lone = await WorkerGroup.create(Contrary, [], { transport, log });
    expect(await lone.sumOdd(what)).toEqual([told(0)]);
    await lone.dispose();
  });

  it("say which rank and method an error of this package comes from, and keep its code and words", async () => {
    const error = await failure(group.throwOn(2, "verl"));
    expect(error).toMatchObject({ code: "VERL_BATCH_SHAPE", message: "odd shapes", hint: "look" });
    expect(error.details).toMatchObject({ rows: 3, group: "Contrary", rank: 2, method: "throwOn" });
    expect(formatError(error).split("\n")).toContain("On rank 2 of Contrary, in throwOn.");
    expect(error.stack).toContain("contrary.ts");
  });

  it("say which rank gave up by itself, and leave the caller's own reason as it is", async () => {
    const error = await failure(group.throwOn(2, "abort"));
    expect([error.name, error.message]).toEqual(["AbortError", "Rank 2 of Contrary failed in throwOn: gave up"]);
    const controller = new AbortController();
    const call = failure(group.untilAborted({ signal: controller.signal }));
    const reason = new DOMException("enough", "AbortError");
    controller.abort(reason);
    expect(await call).toBe(reason);
  });

  it("leave the caller's own reason as it is, whatever it is", async () => {
    for (const reason of [
      new Error("mine"),
      new VerlError("VERL_BATCH_SHAPE", "mine"),
      new DOMException("late", "TimeoutError"),
      "a word",
    ]) {
      const controller = new AbortController();
      const call = failure(group.untilAborted({ signal: controller.signal }));
      controller.abort(reason);
      expect(await call).toBe(reason);
    }
  });

  it("keep the errors that an error stands for", async () => {
    const { cause } = await failure(group.throwOn(1, "aggregate"));
    expect(cause).toBeInstanceOf(AggregateError);
    const { message, errors } = cause as AggregateError;
    expect(message).toBe("both");
    expect(
      errors.map((error: Error) => [error.name, error.message, (error.cause as Error | undefined)?.message]),
    ).toEqual([
      ["TypeError", "one", "why"],
      ["VerlError", "two", undefined],
      ["AggregateError", "more", undefined],
    ]);
    expect((errors[2] as AggregateError).errors[0]).toMatchObject({ message: "three" });
  });

  it.each([
    ["error", "VERL_WORKER_FAILED", "Rank 1 of own failed in the start of Unborn: no such layer"],
    ["nothing", "VERL_WORKER_FAILED", "Rank 1 of own failed in the start of Unborn: undefined"],
    ["verl", "VERL_BATCH_SHAPE", "odd shapes"],
  ])("say which rank of which class could not be started: %s", async (what, code, message) => {
    const own = make();
    const error = await failure(WorkerGroup.create(Unborn, [what], { worldSize: 3, transport: own, name: "own", log }));
    expect(error).toMatchObject({ code, message, details: { rank: 1, method: "the start of Unborn" } });
    await own.close();
  });

  it.each([
    ["error", "VERL_WORKER_FAILED", "Rank 1 of own failed in the start of Unborn as critic: no such layer"],
    ["verl", "VERL_BATCH_SHAPE", "odd shapes"],
  ])("say which of the workers that share a rank could not be started: %s", async (what, code, message) => {
    const own = make();
    Noted.disposed.length = 0;
    const workers = createColocatedWorkerClass({
      actor: new ClassWithInitArgs(Noted),
      critic: new ClassWithInitArgs(Unborn, what),
      ref: new ClassWithInitArgs(Noted),
    });
    const error = await failure(WorkerGroup.start(workers, { worldSize: 2, transport: own, name: "own", log }));
    expect(error).toMatchObject({ code, message, details: { rank: 1, method: "the start of Unborn as critic" } });
    const { stack } = what === "verl" ? error : (error.cause as Error);
    expect(stack).toContain("contrary.ts");
    // Those that there were already: of the rank before, and of the same rank.
    if (kind === "inline") expect(Noted.disposed.sort()).toEqual([0, 0, 1]);
    await own.close();
  });

  it("say which of the workers that share a rank could not be imported", async () => {
    if (kind === "inline") return;
    const own = make();
    const workers = createColocatedWorkerClass({
      actor: new ClassWithInitArgs(Noted),
      critic: new ClassWithInitArgs(Lost),
    });
    const error = await failure(WorkerGroup.start(workers, { transport: own, name: "own", log }));
    expect(error).toMatchObject({
      code: "VERL_WORKER_FAILED",
      message: expect.stringMatching(/^Rank 0 of own failed in the start of Lost as critic: .*nowhere/),
    });
    await own.close();
  });

  it("say which of them returned no batch to be joined", async () => {
    for (const [what, words] of [
      [undefined, "undefined"],
      [7, "a number"],
      [{ not: "a batch" }, "an instance of Object"],
    ] as const) {
      const error = await failure(group.noBatchOn(rows, 1, what));
      expect(error).toMatchObject({ code: "VERL_WORKER_FAILED", details: { rank: 1, method: "noBatchOn" } });
      expect(error.message).toBe(
        `The dispatch mode "DP_COMPUTE_PROTO" could not collect the results of Contrary.noBatchOn: ` +
          `Rank 1 returned ${words}, where a DataProto is joined with others.`,
      );
    }
  });

  it("are called by a method and a number that they have", async () => {
    const any = group as unknown as WorkerGroup;
    const unknown = { code: "VERL_WORKER_METHOD_UNKNOWN", message: 'Contrary has no registered method "zzz".' };
    for (const call of [
      any.call("zzz"),
      any.executeAllSync("zzz"),
      Promise.all(any.executeAllAsync("zzz")),
      any.executeRankZeroSync("zzz"),
    ]) {
      expect(await failure(call)).toMatchObject(unknown);
    }
    for (const rank of [3, -1, 0.5]) {
      expect(await failure(any.executeRank(rank, "fine"))).toMatchObject({
        code: "VERL_DISPATCH_ARGUMENTS",
        message: `Contrary has no rank ${rank} to call fine on.`,
        hint: "Its ranks are 0 to 2.",
      });
    }
  });

  it("fail without ending the process where nobody waits, and are logged once", async () => {
    const unhandled = jest.fn();
    process.on("unhandledRejection", unhandled);
    lines.length = 0;
    void group.throwBeside(1);
    void group.throwOn(0, "error");
    void group.noBatchOn(rows, 2, 0);
    void group.executeRank(2, "throwOn", 2, "error");
    const late = group.throwOn(1, "error");
    await group.throwBeside(2).catch(() => undefined);
    expect(await group.fine()).toEqual([0, 1, 2]);
    const unheard = (): string[] => lines.filter((line) => line.includes("nobody waited"));
    while (unheard().length < 5) await new Promise((resolve) => setTimeout(resolve, 20));
    process.off("unhandledRejection", unhandled);
    expect(unhandled).not.toHaveBeenCalled();
    expect((await failure(late)).message).toContain("Rank 1");
    const lost = (method: string, rank: number): string =>
      `${method} failed, and nobody waited for it: Rank ${rank} of Contrary failed in ${method}: no such layer`;
    expect(unheard()).toHaveLength(5);
    for (const line of [lost("throwBeside", 1), lost("throwOn", 0), lost("throwOn", 2), lost("throwOn", 1)]) {
      expect(lines.filter((each) => each.includes(line))).toHaveLength(1);
    }
    expect(lines.join("\n")).toContain("Rank 2 returned a number");
  });

  it("follow one signal without a warning, however many they are", async () => {
    // Workers in this thread listen for themselves.
    if (kind === "inline") return;
    const own = make();
    const starting = new AbortController();
    const few = await WorkerGroup.create(Contrary, [], { transport: own, signal: starting.signal, log });
    const controller = new AbortController();
    const call = failure(few.untilAborted({ signal: controller.signal }));
    await few.fine();
    controller.abort(new Error("enough"));
    expect((await call).message).toBe("enough");
    // Node warns of a leak where there are more listeners than that.
    expect([starting, controller].map(({ signal }) => getMaxListeners(signal))).toEqual([Infinity, Infinity]);
    await few.dispose();
    await own.close();
  });

  it("end the calls that came before their group is disposed, and take none after", async () => {
    const own = make();
    const short = await WorkerGroup.create(Contrary, [], { worldSize: 2, transport: own, log });
    const before = [short.fine(), short.fine()];
    const disposed = short.dispose();
    for (const call of [short.fine(), ...short.executeAll("fine"), short.executeRankZeroSync("fine")]) {
      expect(await failure(call)).toMatchObject({
        code: "VERL_WORKER_DIED",
        message: "Contrary has been disposed; the call was fine.",
      });
    }
    expect(await Promise.all(before)).toEqual([
      [0, 1],
      [0, 1],
    ]);
    await disposed;
    await own.close();
  });

  it("end the calls that hang when their group is disposed", async () => {
    const own = make();
    const short = await WorkerGroup.create(Contrary, [], { worldSize: 2, transport: own, log });
    const call = failure(short.untilAborted({ signal: new AbortController().signal }));
    await new Promise((resolve) => setTimeout(resolve, 20));
    await short.dispose();
    expect(await call).toMatchObject({
      code: "VERL_WORKER_DIED",
      message: expect.stringMatching(
        /^Rank [01] of Contrary \(.+\) was disposed with its group; the call was untilAborted\.$/,
      ),
      hint: "Dispose a group after its last call.",
    });
    await own.close();
  });

  it("are disposed with a warning where their worker fails at it, and every dispose waits for the first", async () => {
    const own = make();
    lines.length = 0;
    const stubborn = await WorkerGroup.create(Stubborn, [], { worldSize: 2, transport: own, log });
    const ended: string[] = [];
    const note = (what: string) => () => void ended.push(what);
    const first = stubborn.dispose().then(note("first"));
    const second = stubborn.dispose().then(note("second"));
    await second;
    expect(ended).toEqual(["first", "second"]);
    await first;
    await stubborn.dispose();
    const stuck = (rank: number): string => `warning: Rank ${rank} of Stubborn could not be disposed: it is stuck`;
    expect(lines.filter((line) => line.includes("could not be disposed")).sort()).toEqual([stuck(0), stuck(1)]);
    await own.close();
  });

  it("end with their transport, and say so in the calls under way, in later ones and in a start", async () => {
    if (kind === "inline") return;
    const own = make();
    lines.length = 0;
    const short = await WorkerGroup.create(Contrary, [], { worldSize: 2, transport: own, log });
    const call = failure(short.untilAborted({ signal: new AbortController().signal }));
    // A start in the test's own thread would be over at any time: only that of a thread can be held.
    const starting =
      kind === "in threads" && failure(WorkerGroup.create(Unending, [], { transport: own, name: "late", log }));
    await own.close();
    const words = (method: string): RegExp =>
      new RegExp(
        `^Rank [01] of Contrary \\(\\w+ \\d+\\) ended with its transport, which this program closed; the call was ${method}\\.$`,
      );
    const hint = "Close a transport after the last call of its groups.";
    const code = "VERL_WORKER_DIED";
    expect(await call).toMatchObject({ code, hint, message: expect.stringMatching(words("untilAborted")) });
    expect(await failure(short.fine())).toMatchObject({ code, hint, message: expect.stringMatching(words("fine")) });
    if (starting) {
      expect(await starting).toMatchObject({
        code,
        hint,
        message: expect.stringMatching(
          /^Rank 0 of late \(thread \d+\) ended with its transport, which this program closed; the call was the start of Unending\.$/,
        ),
      });
    }
    await short.dispose();
    // It is no news to who closed it.
    expect(lines).toEqual([]);
  });

  it("are started by no transport that is closed", async () => {
    if (kind === "inline") return;
    const own = make();
    await own.close();
    const error = await failure(WorkerGroup.create(Contrary, [], { transport: own, name: "late", log }));
    expect(error).toMatchObject({
      code: "VERL_WORKER_DIED",
      message: "No rank can be started on a transport that this program has closed.",
      hint: "Close a transport after the last call of its groups.",
    });
  });

  it("are disposed with a warning that names each of their workers that fails at it", async () => {
    const own = make();
    lines.length = 0;
    const role = new ClassWithInitArgs(Stubborn);
    const workers = createColocatedWorkerClass({ actor: role, ref: new ClassWithInitArgs(Noted), critic: role });
    await (await WorkerGroup.start(workers, { transport: own, name: "own", log })).dispose();
    expect(lines.filter((line) => line.includes("could not be disposed"))).toEqual([
      "warning: Rank 0 of own could not be disposed: critic: it is stuck; actor: it is stuck",
    ]);
    await own.close();
  });
});
