import { beforeAll, describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { DataProto } from "../../core/batch/data-proto.ts";
import { NdArray } from "../../core/batch/nd-array.ts";
import { DataProtoFuture } from "../../core/controller/data-proto-future.ts";
import { registerDispatchMode, updateDispatchMode, type DispatchFunctions } from "../../core/controller/dispatch.ts";
import { ndCompute, ndComputeDataProto } from "../../core/controller/nd-compute.ts";
import { register } from "../../core/controller/register.ts";
import { Worker, type WorkerContext } from "../../core/controller/worker.ts";
import { WorkerGroup } from "../../core/controller/worker-group.ts";
import { loadPlugin } from "./load-dispatch-modes.ts";

/* verl's tests of dispatch and padding (tests/single_controller), in our words, and what they do not ask. */

/** Gives the ranks their elements in reverse order. */
const reverse: DispatchFunctions = {
  dispatch: ({ worldSize }, args) =>
    Array.from({ length: worldSize }, (_, rank) => args.map((arg) => (arg as unknown[])[worldSize - 1 - rank])),
  collect: (_, outputs) => outputs,
};

beforeAll(() => {
  loadPlugin();
  registerDispatchMode("test-reverse", reverse);
});

const rowsOf = (values: readonly number[]): DataProto =>
  DataProto.fromSingleDict({
    a: new NdArray("int32", [values.length, 1], Int32Array.from(values)),
    na: values.map(String),
  });

const valuesOf = (batch: DataProto): number[] => Array.from(batch.tensor("a", "int32").data);

/** Ranks in a mesh of data × tensor parallelism: neighbours share a batch, the first of them answers. */
class Meshed extends Worker {
  queries = 0;

  constructor(context: WorkerContext, tensorParallel: number) {
    super(context);
    this.registerDispatchCollectInfo("actor", Math.floor(this.rank / tensorParallel), this.rank % tensorParallel === 0);
  }

  @register({ dispatchMode: ndComputeDataProto("actor") })
  addOne(batch: DataProto): Promise<DataProto> {
    const a = batch.tensor("a", "int32");
    const next = new NdArray(
      "int32",
      a.shape,
      a.data.map((value) => value + 1),
    );
    return Promise.resolve(batch.union(DataProto.fromSingleDict({ a: next }), "replace"));
  }

  @register({ dispatchMode: ndCompute("actor") })
  count(batch: DataProto): Promise<number> {
    return Promise.resolve(batch.validRows().length);
  }

  @register({ dispatchMode: ndCompute("rollout") })
  lost(): Promise<void> {
    return Promise.resolve();
  }

  @register({ dispatchMode: "ONE_TO_ALL" })
  again(): Promise<void> {
    this.registerDispatchCollectInfo("actor", 0, true);
    return Promise.resolve();
  }

  override async queryMesh(mesh: string): ReturnType<Worker["queryMesh"]> {
    this.queries++;
    return super.queryMesh(mesh);
  }

  @register({ dispatchMode: "ONE_TO_ALL" })
  queried(): Promise<number> {
    return Promise.resolve(this.queries);
  }
}

class Plain extends Worker {
  @register({ dispatchMode: "DP_COMPUTE_PROTO" })
  tag(batch: DataProto): Promise<DataProto> {
    const ranks = new NdArray("int32", [batch.length], new Int32Array(batch.length).fill(this.rank));
    return Promise.resolve(batch.union(DataProto.fromSingleDict({ rank: ranks })));
  }

  /** Gives back batches without the flags that came with them. */
  @register({ dispatchMode: "DP_COMPUTE_PROTO" })
  fresh(batch: DataProto): Promise<DataProto> {
    return Promise.resolve(DataProto.fromSingleDict({ a: batch.tensor("a") }));
  }

  @register({ dispatchMode: "DP_COMPUTE_METRIC" })
  length(batch: DataProto): Promise<number> {
    return Promise.resolve(batch.length);
  }

  @register({ dispatchMode: "DP_COMPUTE_PROTO" })
  async slow(batch: DataProto): Promise<DataProto> {
    await new Promise((resolve) => setTimeout(resolve, 20));
    return batch;
  }

  @register({ dispatchMode: "DIRECT_ROLLOUT_METHOD" })
  serve(): Promise<void> {
    return Promise.resolve();
  }

  @register({ dispatchMode: "test-reverse" })
  own(value: unknown): Promise<unknown> {
    return Promise.resolve([this.rank, value]);
  }

  @register({ dispatchMode: { dispatch: (_, args) => [args], collect: (_, [only]) => only } })
  inPlace(value: unknown): Promise<unknown> {
    return Promise.resolve(value);
  }

  @register({ dispatchMode: "ONE_TO_ALL", materializeFutures: false })
  isFuture(value: unknown): Promise<boolean> {
    return Promise.resolve(value instanceof DataProtoFuture);
  }
}

describe("auto-padding", () => {
  // verl's test_auto_padding: 10 rows on 8 ranks make shares of 2, 6 rows of padding; 1 row on 8 ranks shares of 1.
  it.each([
    [10, 8, 2],
    [1, 8, 1],
    [8, 8, 1],
    [16, 8, 2],
    [11, 4, 3],
  ])("gives each rank an equal share: %d rows on %d ranks make %d", async (rows, worldSize, share) => {
    const group = await WorkerGroup.create(Plain, [], { worldSize });
    const batch = rowsOf(Array.from({ length: rows }, (_, row) => row));
    expect(await group.length(batch)).toEqual(new Array(worldSize).fill(share));
    for (const result of [await group.tag(batch), await group.fresh(batch)]) {
      expect(valuesOf(result)).toEqual(valuesOf(batch));
      expect(result.batch.has("is_pad")).toBe(false);
    }
    expect(batch.length).toBe(rows);
  });

  it("brings any batch back row for row, on any number of ranks, over any mesh", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: -99, max: 99 }), { maxLength: 17 }),
        fc.integer({ min: 1, max: 4 }),
        fc.integer({ min: 1, max: 3 }),
        async (values, shares, tensorParallel) => {
          const plain = await WorkerGroup.create(Plain, [], { worldSize: shares });
          expect(valuesOf(await plain.tag(rowsOf(values)))).toEqual(values);
          expect(valuesOf(await plain.fresh(rowsOf(values)))).toEqual(values);
          const meshed = await WorkerGroup.create(Meshed, [tensorParallel], { worldSize: shares * tensorParallel });
          const added = await meshed.addOne(rowsOf(values));
          expect(valuesOf(added)).toEqual(values.map((value) => value + 1));
          expect(added.column("na")).toEqual(values.map(String));
          const counts = await meshed.count(rowsOf(values));
          expect(counts).toHaveLength(shares);
          expect(counts.reduce((sum, count) => sum + count, 0)).toBe(values.length);
        },
      ),
      { numRuns: 60 },
    );
  });
});

describe("nd modes", () => {
  it("ask the ranks once where they stand", async () => {
    const group = await WorkerGroup.create(Meshed, [2], { worldSize: 4 });
    expect(await group.queried()).toEqual([0, 0, 0, 0]);
    await group.addOne(rowsOf([1, 2]));
    await group.addOne(rowsOf([1, 2]));
    expect(await group.queried()).toEqual([1, 1, 1, 1]);
  });

  it("refuse a mesh that the ranks do not stand in, and a second place in one", async () => {
    const group = await WorkerGroup.create(Meshed, [1], { worldSize: 2 });
    await expect(group.lost()).rejects.toMatchObject({ code: "VERL_WORKER_MESH" });
    await expect(group.call("lost", rowsOf([1]))).rejects.toMatchObject({ code: "VERL_WORKER_MESH" });
    await expect(group.again()).rejects.toMatchObject({ code: "VERL_WORKER_MESH" });
  });
});

describe("nd modes on a mesh with holes", () => {
  let called = 0;

  /** Each rank stands where the caller says. */
  class Placed extends Worker {
    constructor(context: WorkerContext, dpRanks: readonly number[], answers: readonly boolean[]) {
      super(context);
      this.registerDispatchCollectInfo("actor", dpRanks[this.rank]!, answers[this.rank]!);
    }

    @register({ dispatchMode: ndComputeDataProto("actor") })
    same(batch: DataProto): Promise<DataProto> {
      called++;
      return Promise.resolve(batch);
    }

    @register({ dispatchMode: ndCompute("actor") })
    each(): Promise<void> {
      called++;
      return Promise.resolve();
    }
  }

  it.each([
    ["a share that nobody has", [0, 2, 2], [true, true, false], "no rank has the dpRank 1"],
    ["a share that nobody answers for", [0, 1, 1], [true, false, false], "none of the ranks with the dpRank 1 gives"],
    ["a share that two answer for", [0, 0, 1], [true, true, true], "the ranks 0, 1, not one, with the dpRank 0 give"],
    ["a negative share", [-1, 0, 1], [true, true, true], "rank 0 has the dpRank -1"],
    ["half a share", [0, 0.5, 1], [true, true, true], "rank 1 has the dpRank 0.5"],
    ["more shares than ranks", [0, 1, 3], [true, true, true], "rank 2 has the dpRank 3, of 3 ranks"],
  ])("refuse %s before a rank is called", async (_, dpRanks, answers, words) => {
    const group = await WorkerGroup.create(Placed, [dpRanks, answers], { worldSize: 3, name: "actor" });
    called = 0;
    for (const call of [group.same(rowsOf([1, 2, 3])), group.each()]) {
      await expect(call).rejects.toMatchObject({
        code: "VERL_WORKER_MESH",
        message: expect.stringMatching(new RegExp(`^In the mesh "actor" of actor .*${words}`)),
      });
    }
    expect(called).toBe(0);
  });
});

describe("other modes", () => {
  it("are registered by a user, by name or in place, and refused under a taken name", async () => {
    const group = await WorkerGroup.create(Plain, [], { worldSize: 2 });
    expect(await group.own(["a", "b"])).toEqual([
      [0, "b"],
      [1, "a"],
    ]);
    expect(await group.call("inPlace", 7)).toBe(7);
    expect(() => registerDispatchMode("test-reverse", { ...reverse })).toThrow("test-reverse");
    updateDispatchMode("test-reverse", { ...reverse, collect: () => "updated" });
    expect(await group.call("own", ["a", "b"])).toBe("updated");
  });

  it("are told by name of what they give wrong, before a rank is called", async () => {
    let called = 0;
    class Odd extends Worker {
      @register({ dispatchMode: "test-odd" })
      work(what: string): Promise<string> {
        called++;
        return Promise.resolve(what);
      }
    }
    const lists: Readonly<Record<string, unknown>> = {
      nothing: undefined,
      none: [],
      many: [[], [], []],
      items: [[], 5],
      one: [["one"]],
    };
    registerDispatchMode("test-odd", {
      dispatch: (_, [what]) => {
        if (what === "throws") throw new RangeError("no way");
        return lists[what as string] as unknown[][];
      },
      collect: () => {
        throw new RangeError("no end");
      },
    });
    const group = await WorkerGroup.create(Odd, [], { worldSize: 2 });
    const refused = async (call: Promise<unknown>, words: string): Promise<void> =>
      expect(call).rejects.toMatchObject({
        code: "VERL_ENTRY_FAILED",
        message: words,
        details: { dispatchMode: "test-odd" },
      });
    const mode = 'The dispatch mode "test-odd"';
    await refused(group.work("nothing"), `${mode} gave undefined in place of lists of arguments for Odd.work.`);
    await refused(group.work("none"), `${mode} gave no list of arguments for Odd.work.`);
    await refused(group.work("many"), `${mode} gave 3 lists of arguments to 2 ranks for Odd.work.`);
    await refused(group.work("items"), `${mode} gave rank 1 a number in place of a list of arguments for Odd.work.`);
    await refused(group.work("throws"), `${mode} could not spread the arguments of Odd.work: no way`);
    expect(called).toBe(0);
    await refused(group.work("one"), `${mode} could not collect the results of Odd.work: no end`);
    expect(called).toBe(1);
  });

  it("DP_COMPUTE_PROTO_WITH_FUNC runs a function with the rank's share, and refuses uneven shares", async () => {
    const group = await WorkerGroup.create(Plain, [], { worldSize: 2 });
    const work = (worker: Worker, batch: unknown): Promise<DataProto> =>
      Promise.resolve(
        (batch as DataProto).union(rowsOf([worker.rank]).select({ batchKeys: [], nonTensorBatchKeys: [] })),
      );
    expect(valuesOf((await group.call("executeWithFunc", work, rowsOf([1, 2]))) as DataProto)).toEqual([1, 2]);
    await expect(group.call("executeWithFunc", work, rowsOf([1, 2, 3]))).rejects.toMatchObject({
      code: "VERL_BATCH_SPLIT",
    });
    await expect(group.call("executeWithFunc", 3, rowsOf([1, 2]))).rejects.toMatchObject({
      code: "VERL_DISPATCH_ARGUMENTS",
    });
    expect(await group.call("executeFuncRankZero", (worker: Worker) => Promise.resolve(worker.rank))).toEqual([0]);
  });

  it("refuse a direct rollout method", async () => {
    const group = await WorkerGroup.create(Plain, []);
    await expect(group.serve()).rejects.toMatchObject({ code: "VERL_DISPATCH_ARGUMENTS" });
  });
});

describe("execute", () => {
  it("calls all ranks or the first, at once or to the end", async () => {
    const group = await WorkerGroup.create(Plain, [], { worldSize: 3 });
    expect(await Promise.all(group.executeAllAsync("inPlace", ["a", "b", "c"]))).toEqual(["a", "b", "c"]);
    expect(await Promise.all(group.executeAll("inPlace", "same"))).toEqual(["same", "same", "same"]);
    expect(await group.executeAllSync("inPlace", [1], [2])).toEqual([[1], [1], [1]].map(([one]) => [one]));
    expect(await group.executeRankZeroAsync("inPlace", 5)).toBe(5);
    expect(await group.executeRankZeroSync("inPlace", 6)).toBe(6);
    expect(await group.executeRankZero("inPlace", 7)).toBe(7);
  });
});

describe("a future of a batch", () => {
  it("goes to another group as it is, is chunked and joined without being waited for", async () => {
    const [first, second] = [
      await WorkerGroup.create(Plain, [], { worldSize: 2 }),
      await WorkerGroup.create(Plain, [], { worldSize: 3 }),
    ];
    const future = first.slow(rowsOf([1, 2, 3]));
    expect(future).toBeInstanceOf(DataProtoFuture);
    const chunks = future.chunk(2);
    const joined = DataProtoFuture.concat([...chunks, future]);
    expect(valuesOf(await second.tag(future))).toEqual([1, 2, 3]);
    expect(await Promise.all(chunks.map(async (chunk) => valuesOf(await chunk)))).toEqual([[1, 2], [3]]);
    expect(valuesOf(await joined.get())).toEqual([1, 2, 3, 1, 2, 3]);
    expect(await second.isFuture(future)).toEqual([false, false, false]);
  });

  it.each([0, -1, 1.5, NaN])("is not cut in %d parts", async (count) => {
    const future = new DataProtoFuture(() => Promise.resolve(rowsOf([1])));
    expect(() => future.chunk(count)).toThrow(
      expect.objectContaining({
        code: "VERL_BATCH_SPLIT",
        message: `The number of chunks is ${count}; it must be an integer above 0.`,
      }),
    );
    expect(await future).toHaveLength(1);
  });

  it("fails the call that it is an argument of", async () => {
    const group = await WorkerGroup.create(Plain, []);
    const broken = new DataProtoFuture(() => Promise.reject(new RangeError("lost")));
    await expect(group.tag(broken)).rejects.toThrow("lost");
    await expect(broken.finally(() => undefined)).rejects.toThrow("lost");
    expect(await broken.catch(() => "caught")).toBe("caught");
  });

  it("fails the call that it is an argument of where its maker throws at once", async () => {
    const group = await WorkerGroup.create(Plain, []);
    const throwing = new DataProtoFuture(() => {
      throw new RangeError("lost");
    });
    await expect(group.tag(throwing)).rejects.toThrow("lost");
    await expect(throwing.get()).rejects.toThrow("lost");
  });
});
