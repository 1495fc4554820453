import { beforeAll, describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { DataProto } from "../../core/batch/data-proto.ts";
import { NdArray } from "../../core/batch/nd-array.ts";
import { DataProtoFuture } from "../../core/controller/data-proto-future.ts";
import { joinBatches } from "../../core/controller/join-batches.ts";
import { ndComputeDataProto } from "../../core/controller/nd-compute.ts";
import { register } from "../../core/controller/register.ts";
import { Worker, type WorkerContext } from "../../core/controller/worker.ts";
import { WorkerGroup } from "../../core/controller/worker-group.ts";
import { loadPlugin } from "./load-dispatch-modes.ts";

beforeAll(loadPlugin);

const rowsOf = (values: readonly number[]): DataProto =>
  DataProto.fromSingleDict({ a: new NdArray("int32", [values.length, 1], Int32Array.from(values)) });
const upTo = (rows: number): number[] => [...Array(rows).keys()];
const times = (values: readonly number[], count: number): number[] =>
  values.flatMap((value) => new Array<number>(count).fill(value));
const valuesOf = (batch: DataProto): number[] => [...batch.tensor("a", "int32").data];

/** Gives back `count` rows for each that it got, in several ways. */
class Multiplier extends Worker {
  constructor(context: WorkerContext, replicas: number) {
    super(context);
    this.registerDispatchCollectInfo("mp", Math.floor(this.rank / replicas), this.rank % replicas === 0);
  }

  /** With the flags of padding. */
  @register({ dispatchMode: "DP_COMPUTE_PROTO" })
  repeat(batch: DataProto, count: number): Promise<DataProto> {
    return Promise.resolve(batch.repeat(count));
  }

  /** In a batch of its own. */
  @register({ dispatchMode: "DP_COMPUTE_PROTO" })
  fresh(batch: DataProto, count: number): Promise<DataProto> {
    return Promise.resolve(rowsOf(times(valuesOf(batch), count)));
  }

  /** In a batch of its own, which it makes of rows that are no padding. */
  @register({ dispatchMode: "DP_COMPUTE_PROTO" })
  real(batch: DataProto, count: number): Promise<DataProto> {
    return this.fresh(batch.unpad(), count);
  }

  @register({ dispatchMode: ndComputeDataProto("mp") })
  repeatOverMesh(batch: DataProto, count: number): Promise<DataProto> {
    return this.repeat(batch, count);
  }

  @register({ dispatchMode: ndComputeDataProto("mp") })
  freshOverMesh(batch: DataProto, count: number): Promise<DataProto> {
    return this.fresh(batch, count);
  }

  @register({ dispatchMode: "DP_COMPUTE_PROTO", materializeFutures: false })
  lazy(batch: DataProto, count: number, _beside?: DataProto): Promise<DataProto> {
    return this.fresh(batch, count);
  }

  @register({ dispatchMode: ndComputeDataProto("mp"), materializeFutures: false })
  lazyOverMesh(batch: DataProto, count: number): Promise<DataProto> {
    return this.repeat(batch, count);
  }

  /** One row, whatever it got. */
  @register({ dispatchMode: "DP_COMPUTE_PROTO" })
  summary(batch: DataProto): Promise<DataProto> {
    return Promise.resolve(rowsOf([valuesOf(batch).length]));
  }
}

describe("joined batches", () => {
  it("hold as many rows a row as the ranks gave, and none of the padding", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 0, max: 13 }),
        fc.integer({ min: 0, max: 3 }),
        fc.integer({ min: 1, max: 5 }),
        fc.integer({ min: 1, max: 2 }),
        async (rows, count, shares, replicas) => {
          const group = await WorkerGroup.create(Multiplier, [replicas], { worldSize: shares * replicas });
          const want = times(upTo(rows), count);
          for (const method of ["fresh", "real", "freshOverMesh"] as const) {
            expect([method, valuesOf(await group[method](rowsOf(upTo(rows)), count))]).toEqual([method, want]);
          }
          if (count === 0) return;
          for (const method of ["repeat", "repeatOverMesh"] as const) {
            expect([method, valuesOf(await group[method](rowsOf(upTo(rows)), count))]).toEqual([method, want]);
          }
        },
      ),
      { numRuns: 80 },
    );
  });

  it("lose no row where nothing was padded, whatever flags they have", async () => {
    const group = await WorkerGroup.create(Multiplier, [1], { worldSize: 4 });
    const own = rowsOf([1, 2, 3]).padToDivisor(4);
    expect(valuesOf(await group.repeat(own, 1))).toEqual([1, 2, 3, 1]);
    expect(valuesOf(await group.summary(rowsOf([1, 2, 3, 4, 5, 6, 7, 8])))).toEqual([2, 2, 2, 2]);
    const first = { ranks: [0], shareOf: [0, 1, 2, 3] };
    expect(valuesOf(await joinBatches([rowsOf([1, 2])], [rowsOf([1, 2, 3, 4, 5])], first))).toEqual([1, 2]);
  });

  it("lose what was made of padding alone where the count follows no rule", async () => {
    const group = await WorkerGroup.create(Multiplier, [1], { worldSize: 4 });
    // Shares of 2 rows: two whole ones, one with a row of padding, one of padding alone.
    expect(valuesOf(await group.summary(rowsOf([1, 2, 3, 4, 5])))).toEqual([2, 2]);
    // Shares of 3 rows; the last one has a row of padding.
    const outputs = [rowsOf([0, 1, 2, 3]), rowsOf([4]), rowsOf([5, 6, 7, 8])];
    expect(valuesOf(await joinBatches(outputs, [rowsOf(upTo(8))]))).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
  });

  it("are those of shares that the ranks were given without padding", async () => {
    const batch = rowsOf(upTo(5));
    expect(valuesOf(await joinBatches(batch.chunk(4), [batch]))).toEqual(upTo(5));
    expect((await joinBatches([], [batch])).length).toBe(0);
    expect(valuesOf(await joinBatches([batch, batch], []))).toEqual([...upTo(5), ...upTo(5)]);
  });
});

describe("a future that a mode is given itself", () => {
  it("is shared out like its batch", async () => {
    const group = await WorkerGroup.create(Multiplier, [2], { worldSize: 4 });
    for (const rows of [0, 1, 5, 8]) {
      const future = group.repeat(rowsOf(upTo(rows)), 1);
      expect(valuesOf(await group.lazy(future, 2))).toEqual(times(upTo(rows), 2));
      expect(valuesOf(await group.lazyOverMesh(future, 2))).toEqual(times(upTo(rows), 2));
      expect(valuesOf(await group.lazy(rowsOf(upTo(rows)), 2, future))).toEqual(times(upTo(rows), 2));
    }
  });

  it("is refused beside batches of another length", async () => {
    const group = await WorkerGroup.create(Multiplier, [2], { worldSize: 4 });
    const future = group.repeat(rowsOf([1, 2]), 1);
    await expect(group.lazy(rowsOf([1]), 1, future)).rejects.toMatchObject({
      code: "VERL_DISPATCH_ARGUMENTS",
      message: "A data-parallel call to Multiplier got batches of 1 and 2 rows; the call was Multiplier.lazy.",
      details: { method: "lazy" },
    });
  });

  it("fails with what its batch fails with, which is no rank's fault", async () => {
    const group = await WorkerGroup.create(Multiplier, [2], { worldSize: 4 });
    const reason = new RangeError("no such file");
    const broken = (): DataProtoFuture => new DataProtoFuture(() => Promise.reject(reason));
    await expect(group.lazy(broken(), 1)).rejects.toBe(reason);
    await expect(group.executeRank(1, "lazy", broken(), 1)).rejects.toBe(reason);
    await expect(group.repeat(broken(), 1)).rejects.toBe(reason);
    const wrong = group.repeat(3 as unknown as DataProto, 1);
    const origin = {
      message: expect.stringContaining("the call was Multiplier.repeat."),
      details: { method: "repeat" },
    };
    await expect(group.lazy(wrong, 1)).rejects.toMatchObject(origin);
    await expect(group.fresh(wrong, 1)).rejects.toMatchObject(origin);
  });
});
