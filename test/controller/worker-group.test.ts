import { beforeAll, describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { DataProto } from "../../core/batch/data-proto.ts";
import { NdArray } from "../../core/batch/nd-array.ts";
import { ClassWithInitArgs } from "../../core/controller/class-with-init-args.ts";
import { createColocatedWorkerClass } from "../../core/controller/colocated.ts";
import { InlineTransport } from "../../core/controller/inline-transport.ts";
import { register } from "../../core/controller/register.ts";
import type { RankHandle, SpawnRequest } from "../../core/controller/transport.ts";
import { Worker, type WorkerContext } from "../../core/controller/worker.ts";
import { WorkerGroup } from "../../core/controller/worker-group.ts";
import { VerlError } from "../../core/errors/index.ts";
import { loadPlugin } from "./load-dispatch-modes.ts";

beforeAll(loadPlugin);

class Probe extends Worker {
  static disposed = 0;
  readonly log: string[] = [];

  constructor(
    context: WorkerContext,
    private readonly factor: number,
  ) {
    super(context);
  }

  @register({ dispatchMode: "ONE_TO_ALL" })
  where(word: string): Promise<string> {
    return Promise.resolve(`${word} ${this.rank}/${this.worldSize} x${this.factor}`);
  }

  @register({ dispatchMode: "DP_COMPUTE_PROTO" })
  scale(batch: DataProto, by: { offset: number }): Promise<DataProto> {
    const ids = batch.batch.get("ids") as NdArray<"int32">;
    const data = ids.data.map((value) => value * this.factor + by.offset);
    return Promise.resolve(DataProto.fromSingleDict({ ids: new NdArray("int32", ids.shape, data) }));
  }

  @register({ dispatchMode: "DP_COMPUTE" })
  take(one: number[]): Promise<unknown> {
    return Promise.resolve([this.rank, one]);
  }

  @register()
  plain(value: unknown): Promise<unknown> {
    return Promise.resolve(value);
  }

  @register({ dispatchMode: "RANK_ZERO" })
  first(): Promise<number> {
    return Promise.resolve(this.rank);
  }

  @register({ dispatchMode: "ONE_TO_ALL", executeMode: "RANK_ZERO" })
  alone(): Promise<number> {
    return Promise.resolve(this.rank);
  }

  @register({ dispatchMode: "ONE_TO_ALL" })
  async slow(name: string, milliseconds: number): Promise<string[]> {
    await new Promise((resolve) => setTimeout(resolve, milliseconds));
    this.log.push(name);
    return this.log;
  }

  @register({ dispatchMode: "ONE_TO_ALL", blocking: false })
  async beside(name: string): Promise<void> {
    this.log.push(name);
    return Promise.resolve();
  }

  @register({ dispatchMode: "ONE_TO_ALL" })
  async broken(): Promise<void> {
    if (this.rank === 1) throw new RangeError("no such layer");
    return Promise.resolve();
  }

  override dispose(): void {
    Probe.disposed++;
  }
}

class Misspelt extends Worker {
  @register({ dispatchMode: "DP_COMPUTE_PORTO" })
  update(): Promise<void> {
    return Promise.resolve();
  }
}

class MisspeltRanks extends Worker {
  @register({ executeMode: "RANK_ZER0" })
  update(): Promise<void> {
    return Promise.resolve();
  }
}

/** A transport that says whether it was asked for anything. */
class Watched extends InlineTransport {
  spawned = 0;

  override spawn(request: SpawnRequest): Promise<readonly RankHandle[]> {
    this.spawned++;
    return super.spawn(request);
  }
}

class Loud extends Probe {
  override where(word: string): Promise<string> {
    return super.where(word.toUpperCase());
  }

  @register({ dispatchMode: "RANK_ZERO" })
  override plain(value: unknown): Promise<unknown> {
    return Promise.resolve([value]);
  }
}

const ids = (values: readonly number[]) =>
  DataProto.fromSingleDict({ ids: new NdArray("int32", [values.length, 1], Int32Array.from(values)) });

describe("a worker group", () => {
  it("constructs each rank with its place and the caller's arguments", async () => {
    const group = await WorkerGroup.create(Probe, [3], { worldSize: 2 });
    expect(await group.where("at")).toEqual(["at 0/2 x3", "at 1/2 x3"]);
  });

  it("gives back a batch row for row, whatever the batch size and the number of ranks", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: -9, max: 9 }), { maxLength: 13 }),
        fc.integer({ min: 1, max: 5 }),
        async (values, worldSize) => {
          const group = await WorkerGroup.create(Probe, [2], { worldSize });
          const result = await group.scale(ids(values), { offset: 1 });
          expect([...(result.batch.get("ids") as NdArray<"int32">).data]).toEqual(values.map((value) => value * 2 + 1));
        },
      ),
      { numRuns: 60 },
    );
  });

  it("hands each rank its own element under DP_COMPUTE and refuses lists of another length", async () => {
    const group = await WorkerGroup.create(Probe, [1], { worldSize: 2 });
    expect(await group.call("take", [[7], [8]])).toEqual([
      [0, [7]],
      [1, [8]],
    ]);
    await expect(group.call("take", [[7]])).rejects.toMatchObject({
      code: "VERL_DISPATCH_ARGUMENTS",
      message: "Argument 1 of a DP_COMPUTE call to Probe is a list of 1; the call was Probe.take.",
    });
  });

  it("passes arguments on under ALL_TO_ALL: laid out for the ranks, or the same for all", async () => {
    const group = await WorkerGroup.create(Probe, [1], { worldSize: 2 });
    expect(await group.plain(["a", "b"])).toEqual(["a", "b"]);
    expect(await group.plain("same")).toEqual(["same", "same"]);
  });

  it("runs the first rank alone by dispatch mode and by execute mode", async () => {
    const group = await WorkerGroup.create(Probe, [1], { worldSize: 3 });
    expect(await group.first()).toEqual([0]);
    expect(await group.alone()).toEqual([0]);
  });

  it("keeps blocking calls in order and lets others run beside them", async () => {
    const group = await WorkerGroup.create(Probe, [1]);
    const calls = [group.slow("first", 20), group.slow("second", 0), group.beside("beside")];
    await Promise.all(calls);
    expect(await group.slow("last", 0)).toEqual([["beside", "first", "second", "last"]]);
  });

  it("goes on after a failed call, and names rank and method of the failure", async () => {
    const group = await WorkerGroup.create(Probe, [1], { worldSize: 2, name: "actor" });
    const error: unknown = await group.broken().catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(VerlError);
    expect((error as VerlError).code).toBe("VERL_WORKER_FAILED");
    expect((error as VerlError).message).toBe("Rank 1 of actor failed in broken: no such layer");
    expect((error as VerlError).cause).toBeInstanceOf(RangeError);
    expect(await group.first()).toEqual([0]);
  });

  it("refuses batches of different lengths and calls without a batch", async () => {
    const group = await WorkerGroup.create(Probe, [1], { worldSize: 2 });
    await expect(group.call("scale", ids([1]), ids([1, 2]))).rejects.toMatchObject({
      code: "VERL_DISPATCH_ARGUMENTS",
      message: "A data-parallel call to Probe got batches of 1 and 2 rows; the call was Probe.scale.",
      details: { method: "scale", dispatchMode: "DP_COMPUTE_PROTO" },
    });
    await expect(group.call("scale", 3)).rejects.toThrow("no batch");
  });

  it("flags padding rows for the ranks and gives none of them back", async () => {
    class Counter extends Worker {
      @register({ dispatchMode: "DP_COMPUTE_METRIC" })
      rows(batch: DataProto): Promise<number> {
        return Promise.resolve(batch.validRows().length);
      }

      @register({ dispatchMode: "DP_COMPUTE_PROTO" })
      same(batch: DataProto): Promise<DataProto> {
        return Promise.resolve(batch);
      }
    }
    const group = await WorkerGroup.create(Counter, [], { worldSize: 3 });
    const batch = ids([1, 2, 3, 4]);
    expect((await group.rows(batch)).reduce((sum, rows) => sum + rows, 0)).toBe(4);
    expect((await group.same(batch)).equals(batch)).toBe(true);
  });

  it("says how a method gets there that its class does not register, as a call that fails", async () => {
    class Forgetful extends Probe {
      helper(): Promise<number> {
        return Promise.resolve(this.rank);
      }

      // An override keeps the mark.
      override first(): Promise<number> {
        return Promise.resolve(7);
      }

      override toString(): string {
        return "forgetful";
      }
    }
    // Whoever awaits the group must not wait for it.
    Object.defineProperty(Forgetful.prototype, "then", { value: () => new Promise(() => undefined) });
    const role = new ClassWithInitArgs(Forgetful, 1);
    const alone = await WorkerGroup.start(role, { worldSize: 2 });
    const both = await WorkerGroup.start(createColocatedWorkerClass({ role }), { name: "both" });
    const unknown = (name: string): object => ({
      code: "VERL_WORKER_METHOD_UNKNOWN",
      message: `${name} has no registered method "helper".`,
      hint: expect.stringMatching(
        /^Registered methods: where, scale, .*\. Mark a method with @register to call it through its group\.$/,
      ),
    });
    await expect(alone.helper()).rejects.toMatchObject(unknown("Forgetful"));
    await expect(both.spawn().role.helper()).rejects.toMatchObject(unknown("both.role"));
    expect(await alone.first()).toEqual([7]);
    expect(Object.hasOwn(alone, "toString")).toBe(false);
    expect(Object.keys(alone)).not.toContain("helper");
  });

  it("lists what is registered when asked for something that is not", async () => {
    const group = await WorkerGroup.create(Probe, [1]);
    const error = (await group.call("wher").catch((reason: unknown) => reason)) as VerlError;
    expect(error.code).toBe("VERL_WORKER_METHOD_UNKNOWN");
    expect(error.hint).toContain("where");
  });

  it("inherits marks, and lets an override set its own", async () => {
    const group = await WorkerGroup.create(Loud, [1], { worldSize: 2 });
    expect(await group.where("at")).toEqual(["AT 0/2 x1", "AT 1/2 x1"]);
    expect(await group.plain("x")).toEqual([["x"]]);
  });

  it.each([
    ["dispatch", Misspelt, 'No dispatch mode is registered as "DP_COMPUTE_PORTO"', "DP_COMPUTE_PROTO"],
    ["execute", MisspeltRanks, 'No execute mode is registered as "RANK_ZER0"', "RANK_ZERO"],
  ] as const)(
    "refuses an unknown %s mode before a rank starts, with the nearest",
    async (_, workerClass, what, near) => {
      const transport = new Watched();
      const worker = new ClassWithInitArgs<Worker, []>(workerClass);
      for (const [start, where] of [
        [WorkerGroup.start(worker, { transport, name: "actor" }), "actor.update"],
        [WorkerGroup.start(createColocatedWorkerClass({ ref: worker }), { transport }), "[ref].ref_update"],
      ] as const) {
        await expect(start).rejects.toMatchObject({
          code: "VERL_REGISTRY_KEY_UNKNOWN",
          message: `${what}, which the @register of ${where} names.`,
          hint: expect.stringContaining(`Did you mean "${near}"`),
        });
      }
      expect(transport.spawned).toBe(0);
    },
  );

  it("refuses a method under a name that every group has, before a rank starts", async () => {
    class Clash extends Worker {
      @register()
      async call(): Promise<void> {
        return Promise.resolve();
      }
    }
    const transport = new Watched();
    await expect(WorkerGroup.create(Clash, [], { transport })).rejects.toMatchObject({
      code: "VERL_WORKER_METHOD_TAKEN",
      message: expect.stringContaining('has a "call" of its own'),
    });
    expect(transport.spawned).toBe(0);
  });

  it("refuses a method that would make a promise of the group, before a rank starts", async () => {
    class Thenable extends Worker {
      @register()
      async then(): Promise<void> {
        return Promise.resolve();
      }
    }
    const transport = new Watched();
    const taken = {
      code: "VERL_WORKER_METHOD_TAKEN",
      message: 'odd.then is registered, but whoever awaits a group with a "then" would wait for that method.',
    };
    await expect(WorkerGroup.create(Thenable, [], { transport, name: "odd" })).rejects.toMatchObject(taken);
    expect(transport.spawned).toBe(0);
    const both = await WorkerGroup.start(createColocatedWorkerClass({ odd: new ClassWithInitArgs(Thenable) }), {
      name: "both",
    });
    expect(() => both.spawn()).toThrow("both.odd.then is registered");
  });

  it("lets a worker's method have a name that groups use only inside", async () => {
    class Logger extends Worker {
      @register({ dispatchMode: "ONE_TO_ALL" })
      log(word: string): Promise<string> {
        return Promise.resolve(`${this.rank} ${word}`);
      }
    }
    const group = await WorkerGroup.create(Logger, []);
    expect(await group.log("here")).toEqual(["0 here"]);
  });

  it("makes no group where one of the roles cannot be, so that the ranks end with those that there are", async () => {
    Probe.disposed = 0;
    const all = await WorkerGroup.start(createColocatedWorkerClass({ probe: new ClassWithInitArgs(Probe, 1) }));
    expect(() => all.spawn(["probe", "critic" as "probe"])).toThrow('has no colocated worker "critic"');
    await all.dispose();
    expect(Probe.disposed).toBe(1);
  });

  it("disposes every worker once", async () => {
    Probe.disposed = 0;
    const group = await WorkerGroup.create(Probe, [1], { worldSize: 3 });
    await group.dispose();
    expect(Probe.disposed).toBe(3);
  });
});
