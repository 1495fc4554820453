import { beforeAll, describe, expect, it } from "@jest/globals";
import { DataProto } from "../../core/batch/data-proto.ts";
import { NdArray } from "../../core/batch/nd-array.ts";
import { DataProtoFuture } from "../../core/controller/data-proto-future.ts";
import { register } from "../../core/controller/register.ts";
import { Worker } from "../../core/controller/worker.ts";
import { WorkerGroup, type GroupOf } from "../../core/controller/worker-group.ts";
import { failure } from "./failure.ts";
import { loadPlugin } from "./load-dispatch-modes.ts";

beforeAll(loadPlugin);

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
