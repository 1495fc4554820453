import { afterEach, beforeAll, describe, expect, it, jest } from "@jest/globals";
import { DataProto } from "../../core/batch/data-proto.ts";
import { NdArray } from "../../core/batch/nd-array.ts";
import { DataProtoFuture } from "../../core/controller/data-proto-future.ts";
import { register } from "../../core/controller/register.ts";
import { Worker, type WorkerContext } from "../../core/controller/worker.ts";
import { WorkerGroup, type GroupOf } from "../../core/controller/worker-group.ts";
import { createLogger } from "../../core/registry/index.ts";
import { failure } from "./failure.ts";
import { loadPlugin } from "./load-dispatch-modes.ts";

beforeAll(loadPlugin);

afterEach(() => void jest.useRealTimers());

class Sums extends Worker {
  @register({ dispatchMode: "DP_COMPUTE_PROTO" })
  doubled(batch: DataProto): Promise<DataProto> {
    const { shape, data } = batch.tensor("x", "float32");
    return Promise.resolve(
      DataProto.fromSingleDict({
        x: new NdArray(
          "float32",
          shape,
          data.map((value) => value * 2),
        ),
      }),
    );
  }

  /** Rank 0 leaves the others waiting, and never ends. */
  @register({ dispatchMode: "ONE_TO_ALL" })
  async withoutFirst(): Promise<void> {
    if (this.rank === 0) await new Promise(() => undefined);
    await this.peers.sum(new Float32Array(2));
  }
}

it("takes a batch that it is still to make itself", async () => {
  const group = await WorkerGroup.create(Sums, [], { worldSize: 2 });
  const batch = DataProto.fromSingleDict({ x: new NdArray("float32", [4], Float32Array.of(1, 2, 3, 4)) });
  const later = new DataProtoFuture(() => Promise.resolve(group.doubled(batch)));
  expect((await group.doubled(later)).tensor("x", "float32").data).toEqual(Float32Array.of(4, 8, 12, 16));
  await group.dispose();
});

const wait = (milliseconds: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, milliseconds));

const x = (...values: number[]): DataProto =>
  DataProto.fromSingleDict({ x: new NdArray("float32", [values.length], Float32Array.from(values)) });

const valuesOf = (batch: DataProto): number[] => [...batch.tensor("x", "float32").data];

describe("a batch that the group makes itself for a call that waits for it already", () => {
  /** Doubles by the group, but not at once. */
  const later = (group: GroupOf<Sums>, batch: DataProto): DataProtoFuture =>
    new DataProtoFuture(async () => {
      await wait(20);
      const once = await group.doubled(batch);
      await wait(20);
      return group.doubled(once);
    });

  it("comes before that call, which comes before those given later", async () => {
    const group = await WorkerGroup.create(Sums, [], { worldSize: 2 });
    const ended: string[] = [];
    const note = (name: string, batch: DataProto): number[] => {
      ended.push(name);
      return valuesOf(batch);
    };
    const results = await Promise.all([
      group.doubled(x(1)).then((batch) => note("first", batch)),
      group.doubled(later(group, x(1, 2))).then((batch) => note("made", batch)),
      group
        .doubled(DataProtoFuture.concat([later(group, x(3)), group.doubled(x(5))]))
        .then((batch) => note("joined", batch)),
      group.doubled(later(group, x(7)).chunk(1)[0]!).then((batch) => note("cut", batch)),
      group.doubled(x(9)).then((batch) => note("last", batch)),
    ]);
    expect(results).toEqual([[2], [8, 16], [24, 20], [56], [18]]);
    expect(ended).toEqual(["first", "made", "joined", "cut", "last"]);
    await group.dispose();
  });

  it("may need another such batch, and go over another group", async () => {
    const group = await WorkerGroup.create(Sums, [], { worldSize: 2 });
    const other = await WorkerGroup.create(Sums, [], { worldSize: 1, name: "other" });
    const over = new DataProtoFuture(async () => {
      await wait(5);
      return other.doubled(
        new DataProtoFuture(async () => {
          await wait(5);
          return group.doubled(later(group, x(1)));
        }),
      );
    });
    expect(valuesOf(await group.doubled(over))).toEqual([32]);
    await Promise.all([group.dispose(), other.dispose()]);
  });

  it("fails that call alone, and what its function still does takes its turn as all else", async () => {
    const group = await WorkerGroup.create(Sums, [], { worldSize: 2 });
    let after: Promise<DataProto> | undefined;
    const failing = new DataProtoFuture(async () => {
      await wait(5);
      void wait(20).then(() => (after = group.doubled(x(2))));
      throw new Error("no batch");
    });
    const call = failure(group.doubled(failing));
    const next = group.doubled(x(1));
    expect((await call).message).toContain("no batch");
    expect(valuesOf(await next)).toEqual([2]);
    await wait(50);
    expect(valuesOf(await after!)).toEqual([4]);
    await group.dispose();
  });
});

it("disposes a group within seconds whose ranks wait for one that does not come, and the call says so", async () => {
  const group = await WorkerGroup.create(Sums, [], { worldSize: 3 });
  const call = group.withoutFirst().catch((error: Error) => error.message);
  const started = performance.now();
  await group.dispose();
  expect(performance.now() - started).toBeLessThan(40_000);
  // Of the rank that hangs, or of those that wait for it.
  expect(await call).toMatch(/was disposed with its group|the group is disposed/);
}, 300_000);

/** A worker whose disposal never ends, nor does its call; one that is told to cannot be constructed on its second rank. */
class Endless extends Worker {
  constructor(context: WorkerContext, fails = false) {
    super(context);
    if (fails && this.rank === 1) throw new Error("no such layer");
  }

  @register({ dispatchMode: "ONE_TO_ALL", blocking: false })
  async hang(): Promise<void> {
    await new Promise(() => undefined);
  }

  override dispose(): Promise<void> {
    return new Promise(() => undefined);
  }
}

describe("a worker in this thread whose disposal never ends", () => {
  const lines: string[] = [];
  const log = createLogger({ write: (line) => void lines.push(line) });
  const left = (rank: number): string =>
    `warning: Rank ${rank} of Endless (this thread) did not stop within 10 s; it is left as it is.`;

  it("is left after seconds with a warning, and its calls end", async () => {
    lines.length = 0;
    const group = await WorkerGroup.create(Endless, [], { worldSize: 2, log });
    jest.useFakeTimers();
    const call = failure(group.hang());
    let disposed = false;
    void group.dispose().then(() => (disposed = true));
    await jest.advanceTimersByTimeAsync(9_000);
    expect([disposed, lines]).toEqual([false, []]);
    await jest.advanceTimersByTimeAsync(2_000);
    expect([disposed, lines.sort()]).toEqual([true, [left(0), left(1)]]);
    expect(await call).toMatchObject({
      code: "VERL_WORKER_DIED",
      message: expect.stringMatching(
        /^Rank \d of Endless \(this thread\) was disposed with its group; the call was hang/,
      ),
    });
  });

  it("does not hold up the failure of a start for ever", async () => {
    lines.length = 0;
    jest.useFakeTimers();
    let told = "";
    void failure(WorkerGroup.create(Endless, [true], { worldSize: 2, log })).then(({ message }) => (told = message));
    await jest.advanceTimersByTimeAsync(11_000);
    expect([told, lines]).toEqual(["Rank 1 of Endless failed in the start of Endless: no such layer", [left(0)]]);
  });
});
