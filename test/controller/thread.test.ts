import { beforeAll, describe, expect, it, jest } from "@jest/globals";
import fc from "fast-check";
import { DataProto } from "../../core/batch/data-proto.ts";
import { NdArray } from "../../core/batch/nd-array.ts";
import type { HealthLimits } from "../../core/controller/health.ts";
import { InlineTransport } from "../../core/controller/inline-transport.ts";
import { ThreadTransport } from "../../core/controller/thread/thread-transport.ts";
import { WorkerGroup, type GroupOf } from "../../core/controller/worker-group.ts";
import { VerlError } from "../../core/errors/index.ts";
import { createLogger } from "../../core/registry/index.ts";
import { loadPlugin } from "./load-dispatch-modes.ts";
import { Fragile } from "./workers/fragile.ts";
import { Probe } from "./workers/probe.ts";

// The threads' sources are compiled when they start.
jest.setTimeout(60_000);

beforeAll(loadPlugin);

const lines: string[] = [];
const log = createLogger({ write: (line) => void lines.push(line) });

/** A group in threads for the time of a test. */
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

const failure = (call: Promise<unknown>): Promise<VerlError> =>
  call.then(
    () => expect.unreachable(),
    (e: VerlError) => e,
  ) as Promise<VerlError>;

describe("ranks in threads", () => {
  it("take and give every kind of value, and batches row for row", async () => {
    const transport = new ThreadTransport();
    const group = await WorkerGroup.create(Probe, [3], { worldSize: 2, transport, log });
    try {
      expect(await group.where("at")).toEqual(["at 0/2 x3", "at 1/2 x3"]);
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

      await fc.assert(
        fc.asyncProperty(fc.array(fc.integer({ min: -9, max: 9 }), { maxLength: 9 }), async (values) => {
          const batch = DataProto.fromSingleDict({
            ids: new NdArray("int32", [values.length, 1], Int32Array.from(values)),
          });
          const scaled = await group.scale(batch, { offset: 1 });
          expect([...scaled.tensor("ids", "int32").data]).toEqual(values.map((item) => item * 3 + 1));
        }),
        { numRuns: 30 },
      );
    } finally {
      await group.dispose();
      await transport.close();
    }
  });

  it("add up in rank order: the same bits on every rank, as in one thread", async () => {
    const inline = await WorkerGroup.create(Fragile, [], { worldSize: 3, transport: new InlineTransport() });
    await withGroup(
      async (group) => {
        // Below and above the size from which memory is shared.
        for (const length of [5, 10_000]) {
          const [first, ...others] = await group.sums(length);
          for (const other of others) expect(Buffer.from(other.buffer).equals(Buffer.from(first!.buffer))).toBe(true);
          const [expected] = await inline.sums(length);
          expect([...first!]).toEqual([...expected!]);
          const share = (at: number) => Math.fround(Math.sin(at + 1));
          expect(first![0]).toBeCloseTo(3 * 6 * share(0), 4);
        }
      },
      { worldSize: 3 },
    );
  });

  it("pass on log lines and metrics before the call ends", async () => {
    const told: number[] = [];
    const transport = new ThreadTransport();
    const metrics = { add: (name: string, value: number) => void (name === "told" && told.push(value)) };
    const group = await WorkerGroup.create(Fragile, [], { worldSize: 2, transport, log, metrics });
    await group.tell();
    expect(told.sort()).toEqual([0, 1]);
    expect(lines.join("\n")).toContain("rank 1 speaks");
    await group.dispose();
    await transport.close();
  });
});

describe("a rank in a thread that", () => {
  it("throws is named with its method and its own stack; the others do not wait for it, and the group goes on", async () => {
    await withGroup(async (group) => {
      const error = await failure(group.throwOn(1));
      expect(error.code).toBe("VERL_WORKER_FAILED");
      expect(error.message).toBe("Rank 1 of Fragile failed in throwOn: no such layer");
      expect((error.cause as Error).name).toBe("RangeError");
      expect((error.cause as Error).stack).toContain("fragile.ts");
      expect(await group.sums(3)).toHaveLength(2);
    });
  });

  it("throws in its constructor ends the start, and the other ranks with it", async () => {
    const transport = new ThreadTransport();
    const error = await failure(WorkerGroup.create(Fragile, [1], { worldSize: 2, transport, log }));
    expect(error.message).toBe("rank 1 has no weights");
    await transport.close();
  });

  it("exits fails the call of all, and every later one", async () => {
    await withGroup(async (group) => {
      const error = await failure(group.exitOn(1));
      expect(error.code).toBe("VERL_WORKER_DIED");
      expect(error.message).toMatch(/^Rank 1 of Fragile \(thread \d+\) exited with code 3; the call was exitOn\.$/);
      expect((await failure(group.fine())).code).toBe("VERL_WORKER_DIED");
    });
  });

  it("is ended by an error that nobody caught says which", async () => {
    await withGroup(async (group) => {
      expect((await failure(group.stray())).message).toContain("an error that nobody caught: a timer's error");
    });
  });

  it("is terminated in a call fails it", async () => {
    await withGroup(async (group, transport) => {
      const call = failure(group.stray());
      await transport.close();
      expect((await call).code).toBe("VERL_WORKER_DIED");
    });
  });

  it("blocks its event loop is told of, and is back when it answers", async () => {
    lines.length = 0;
    await withGroup((group) => group.block(1), { health: { pingS: 0.05, silentS: 0.3, lostS: 30 } });
    expect(lines.join("\n")).toMatch(
      /Rank 1 of Fragile has given no sign of life for \d+ s\.\nRank 1 of Fragile answers again\./,
    );
  });

  it("blocks its event loop for longer than it may is given up", async () => {
    const started = Date.now();
    await withGroup(
      async (group) => {
        const error = await failure(group.block(60));
        expect(error.message).toContain("has given no sign of life for 0.6 s");
      },
      { health: { pingS: 0.05, silentS: 0.3, lostS: 0.6 } },
    );
    expect(Date.now() - started).toBeLessThan(40_000);
  });

  it("is asked to stop by a signal gives back the signal's own reason", async () => {
    await withGroup(async (group) => {
      const controller = new AbortController();
      const call = failure(group.untilAborted(controller.signal));
      const reason = new DOMException("enough", "AbortError");
      controller.abort(reason);
      expect(await call).toBe(reason);
    });
  });
});
