import { afterAll, beforeAll, describe, expect, it, jest } from "@jest/globals";
import fc from "fast-check";
import { DataProto } from "../../core/batch/data-proto.ts";
import { NdArray } from "../../core/batch/nd-array.ts";
import { DataProtoFuture } from "../../core/controller/data-proto-future.ts";
import type { HealthLimits } from "../../core/controller/health.ts";
import { InlineTransport } from "../../core/controller/inline-transport.ts";
import { Listener } from "../../core/controller/listener.ts";
import { ThreadTransport } from "../../core/controller/thread/thread-transport.ts";
import { WorkerGroup, type GroupOf } from "../../core/controller/worker-group.ts";
import { createLogger } from "../../core/registry/index.ts";
import { failure } from "./failure.ts";
import { loadPlugin } from "./load-dispatch-modes.ts";
import { Fragile } from "./workers/fragile.ts";

// The threads' sources are compiled when they start.
jest.setTimeout(300_000);

beforeAll(loadPlugin);

const lines: string[] = [];
const told: number[] = [];
const log = createLogger({ write: (line) => void lines.push(line) });
const metrics = { add: (name: string, value: number) => void (name === "told" && told.push(value)) };

/** A group in threads for the time of a test that may cost it its life. */
async function withGroup<T>(
  work: (group: GroupOf<Fragile>, transport: ThreadTransport) => Promise<T>,
  { health, worldSize = 2 }: { health?: HealthLimits; worldSize?: number } = {},
): Promise<T> {
  const transport = new ThreadTransport();
  const group = await WorkerGroup.create(Fragile, [], { worldSize, transport, log, health });
  try {
    return await work(group, transport);
  } finally {
    await group.dispose();
    await transport.close();
  }
}

describe("ranks in threads", () => {
  const transport = new ThreadTransport();
  let group: GroupOf<Fragile>;

  beforeAll(async () => {
    group = await WorkerGroup.create(Fragile, [], { worldSize: 3, transport, log, metrics });
  });

  afterAll(async () => {
    await group.dispose();
    await transport.close();
  });

  it("take and give every kind of value", async () => {
    const value = {
      numbers: [NaN, -0, Infinity, 1n, undefined, null],
      arrays: [Float32Array.of(1, 2), BigInt64Array.of(3n), new Uint8Array(0)],
      map: new Map([["w", new NdArray("float32", [1, 2], Float32Array.of(1, 2))]]),
      batch: DataProto.fromSingleDict({ ids: Int32Array.of(1, 2), text: ["a", "b"] }, { step: 3 }),
    };
    const [echoed] = (await group.echo(value)) as (typeof value)[];
    expect(echoed!.numbers).toEqual(value.numbers);
    expect(Object.is(echoed!.numbers[1], -0)).toBe(true);
    expect(echoed!.arrays.map((array) => [array.constructor.name, [...array]])).toEqual([
      ["Float32Array", [1, 2]],
      ["BigInt64Array", [3n]],
      ["Uint8Array", []],
    ]);
    expect(echoed!.map.get("w")!.equals(value.map.get("w")!)).toBe(true);
    expect(echoed!.batch.equals(value.batch)).toBe(true);
    expect(value.arrays[0]).toHaveLength(2);
  });

  it("refuse what cannot cross, and say what can", async () => {
    const error = await failure(group.echo({ work: () => undefined }));
    expect(error.code).toBe("VERL_WORKER_PAYLOAD");
    expect(error.message).toContain("an argument of Fragile.echo holds a function");
    expect(error.hint).toMatch(/typed array, Map, AbortSignal, Listener, or plain JSON data/);
    // A batch takes less than a call does.
    for (const batch of [
      DataProto.fromSingleDict({ odd: [new Map(), 1] }),
      DataProto.fromSingleDict({ fine: [1] }, { odd: new Map() }),
    ]) {
      const inBatch = await failure(group.echo({ batch }));
      expect(inBatch).toMatchObject({ code: "VERL_WORKER_PAYLOAD", cause: { code: "VERL_BATCH_ARROW" } });
      expect(inBatch.message).toContain("an instance of Map");
      expect(inBatch.hint).toMatch(/^Keep strings, numbers/);
    }
    const inWorker = await failure(group.executeFuncRankZero(() => Promise.resolve(1)));
    expect(inWorker.code).toBe("VERL_WORKER_PAYLOAD");
  });

  it("tell a listener in order before the call ends, and a listener that fails ends the call alone", async () => {
    const heard: [number, number, DataProto][] = [];
    const listener = new Listener((value) => void heard.push(value as [number, number, DataProto]));
    expect(await group.count(3, listener)).toEqual(["done", "done", "done"]);
    for (const rank of [0, 1, 2]) {
      const own = heard.filter(([from]) => from === rank);
      expect(own.map(([, at, batch]) => [at, batch.column("at")])).toEqual([0, 1, 2].map((at) => [at, [at]]));
    }
    const deaf = new Listener(() => {
      throw new RangeError("deaf");
    });
    expect((await failure(group.count(1, deaf))).message).toContain("deaf");
    expect(await group.fine()).toEqual([0, 1, 2]);
  });

  it("give back batches row for row", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.integer({ min: -9, max: 9 }), { maxLength: 9 }), async (values) => {
        const ids = new NdArray("int32", [values.length, 1], Int32Array.from(values));
        const doubled = await group.double(DataProto.fromSingleDict({ ids }));
        expect([...doubled.tensor("ids", "int32").data]).toEqual(values.map((item) => item * 2));
      }),
      { numRuns: 30 },
    );
  });

  it("add up in rank order: the same bits on every rank, as in one thread", async () => {
    const inline = await WorkerGroup.create(Fragile, [], { worldSize: 3, transport: new InlineTransport() });
    // Below and above the size from which memory is shared.
    for (const length of [5, 10_000]) {
      const [first, ...others] = await group.sums(length);
      for (const other of others) expect([...other]).toEqual([...first!]);
      const [expected] = await inline.sums(length);
      expect([...first!]).toEqual([...expected!]);
      expect(first![0]).toBeCloseTo(3 * 6 * Math.sin(1), 4);
    }
  });

  it("pass on log lines and metrics before the call ends", async () => {
    await group.tell();
    expect(told.sort()).toEqual([0, 1, 2]);
    expect(lines.join("\n")).toContain("rank 1 speaks");
  });

  it("are named with the method and their own stack when they throw; the others do not wait, and the group goes on", async () => {
    const error = await failure(group.throwOn(1));
    expect(error.code).toBe("VERL_WORKER_FAILED");
    expect(error.message).toBe("Rank 1 of Fragile failed in throwOn: no such layer");
    expect((error.cause as Error).name).toBe("RangeError");
    expect((error.cause as Error).stack).toContain("fragile.ts");
    expect(await group.sums(3)).toHaveLength(3);
  });

  it("follow a signal, whose own reason comes back", async () => {
    const controller = new AbortController();
    const call = failure(group.untilAborted(controller.signal));
    const reason = new DOMException("enough", "AbortError");
    controller.abort(reason);
    expect(await call).toBe(reason);
  });
});

describe("a rank in a thread that", () => {
  it("exits fails the call of all, and every later one", async () => {
    await withGroup(async (group) => {
      const error = await failure(group.exitOn(1));
      expect(error.code).toBe("VERL_WORKER_DIED");
      expect(error.message).toMatch(/^Rank 1 of Fragile \(thread \d+\) exited with code 3; the call was exitOn\.$/);
      expect(error.hint).toBe("Its own lines in the log come before this.");
      expect((await failure(group.fine())).code).toBe("VERL_WORKER_DIED");
    });
  });

  it("exits when it has done its part fails what the others are still at, and what waits for its turn", async () => {
    await withGroup(async (group) => {
      let tell!: () => void;
      const begun = new Promise<void>((resolve) => (tell = resolve));
      const heard = new Set<unknown>();
      const listener = new Listener((rank) => heard.add(rank).size === 2 && tell());
      const calls = [
        failure(group.firstOnly(listener)),
        failure(group.firstOnlyInTurn()),
        failure(group.fine()),
        failure(group.executeRank(1, "firstOnly", null)),
      ];
      await begun;
      // What rank 0 does comes in order: by now it has done its part of all that is under way.
      await group.executeRank(0, "firstOnly", null);
      void failure(group.executeRank(0, "firstOnly", null, true));
      for (const error of [...(await Promise.all(calls)), await failure(group.executeRank(1, "fine"))]) {
        expect(error).toMatchObject({ code: "VERL_WORKER_DIED", details: { rank: 0, reason: "exited with code 3" } });
        expect(error.message).toMatch(/^Rank 0 of Fragile \(thread \d+\) exited with code 3; the call was \w+\.$/);
      }
    });
  });

  it("exits fails what waits for a batch that never comes, what stands behind that, and what is asked for later", async () => {
    await withGroup(async (group) => {
      const never = new DataProtoFuture(() => new Promise(() => undefined));
      const calls = [failure(group.double(never)), failure(group.fine())];
      void failure(group.executeRank(0, "firstOnly", null, true));
      for (const error of [...(await Promise.all(calls)), await failure(group.double(never))])
        expect(error).toMatchObject({ code: "VERL_WORKER_DIED", details: { rank: 0, reason: "exited with code 3" } });
    });
  });

  it("exits behind another's failure leaves that the reason", async () => {
    await withGroup(async (group) => {
      let tell!: () => void;
      const begun = new Promise<void>((resolve) => (tell = resolve));
      const call = failure(group.firstFails(new Listener(() => tell())));
      await begun;
      // Answers come in order: by now the failure is known.
      await group.executeRank(0, "firstOnly", null);
      void failure(group.executeRank(1, "firstOnly", null, true));
      expect((await call).message).toMatch(/^Rank 0 of Fragile .*the root cause/);
    });
  });

  it("is disposed with calls that still wait for a batch, which fail then", async () => {
    let call: Promise<Error> | undefined;
    await withGroup((group) => {
      call = failure(group.double(new DataProtoFuture(() => new Promise(() => undefined))));
      return Promise.resolve();
    });
    expect((await call!).message).toBe("Fragile has been disposed; the call was double.");
  });

  it.each([
    ["null", "null"],
    ["undefined", "undefined"],
    ["symbol", "Symbol(sign)"],
    ["function", "function parseInt() { [native code] }"],
    ["timeout", "too late"],
    ["proxy", "an object that cannot be put into words"],
  ])("is ended by what nobody caught says by what, and the others are told: %s", async (what, words) => {
    await withGroup(async (group) => {
      const error = await failure(group.stray(what));
      const sentence = `was ended by an error that nobody caught: ${words}`;
      expect(error).toMatchObject({ code: "VERL_WORKER_DIED", cause: { message: words } });
      expect(error.message).toMatch(/^Rank 0 of Fragile \(thread \d+\) was ended/);
      expect(error.message).toContain(`${sentence}; the call was stray.`);
      expect(error.details).toMatchObject({ rank: 0, reason: sentence });
      expect(lines.at(-1)).toContain(`Rank 0 of Fragile ${sentence}.`);
    });
  });

  it("is ended by an error that nobody caught has its name, stack and causes kept", async () => {
    for (const how of ["timer", "rejection"] as const) {
      await withGroup(
        async (group) => {
          const { message, cause } = (await failure(group.stray("error", how))) as { message: string; cause: Error };
          expect(message).toContain("was ended by an error that nobody caught: a timer's error; the call was stray.");
          expect([cause.name, (cause.cause as Error).message]).toEqual(["RangeError", "a layer's"]);
          expect(cause.stack).toContain("fragile.ts");
        },
        { worldSize: 1 },
      );
    }
  });

  it("hears of a contained error that nobody caught lives on, and is ended by one of its own after it", async () => {
    await withGroup(
      async (group) => {
        expect(await group.containedStrays()).toEqual([["RangeError: of a timer", "RangeError: of a rejection"]]);
        expect(await group.fine()).toEqual([0]);
        expect((await failure(group.stray("error"))).message).toContain("nobody caught: a timer's error");
      },
      { worldSize: 1 },
    );
  });

  it("is terminated in a call fails it", async () => {
    await withGroup(
      async (group, transport) => {
        const call = failure(group.untilAborted(new AbortController().signal));
        await transport.close();
        expect((await call).code).toBe("VERL_WORKER_DIED");
      },
      { worldSize: 1 },
    );
  });

  it("blocks its event loop is told of, is back when it answers, and given up when it does not", async () => {
    await withGroup(
      async (group) => {
        await group.block(2);
        // On a busy machine the others may be told of, too.
        expect(lines.filter((line) => line.includes("Rank 1 ")).join("\n")).toMatch(
          /Rank 1 of Fragile has given no sign of life for \d+ s\.\nRank 1 of Fragile answers again\./,
        );
        const error = await failure(group.block(3600));
        expect(error.message).toContain("has given no sign of life for 5 s");
      },
      { health: { pingS: 0.05, silentS: 0.3, lostS: 5 } },
    );
  });
});
