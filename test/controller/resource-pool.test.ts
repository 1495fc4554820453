import { beforeAll, describe, expect, it } from "@jest/globals";
import { ClassWithInitArgs } from "../../core/controller/class-with-init-args.ts";
import { createColocatedWorkerClass } from "../../core/controller/colocated.ts";
import { InlineTransport } from "../../core/controller/inline-transport.ts";
import type { NodeResources, Resources } from "../../core/controller/node-resources.ts";
import { register } from "../../core/controller/register.ts";
import { ResourcePool } from "../../core/controller/resource-pool.ts";
import { ResourcePoolManager } from "../../core/controller/resource-pool-manager.ts";
import { ThreadTransport } from "../../core/controller/thread/thread-transport.ts";
import type { Transport } from "../../core/controller/transport.ts";
import { Worker, type WorkerContext } from "../../core/controller/worker.ts";
import { WorkerGroup } from "../../core/controller/worker-group.ts";
import { failure } from "./failure.ts";
import { loadPlugin } from "./load-dispatch-modes.ts";

beforeAll(loadPlugin);

describe("a resource pool", () => {
  it("knows where each rank stands", () => {
    const pool = new ResourcePool([2, 3]);
    expect([pool.worldSize, pool.processOnNodes]).toEqual([5, [2, 3]]);
    expect(pool.localRankList).toEqual([0, 1, 0, 1, 2]);
    expect(pool.localWorldSizeList).toEqual([2, 2, 3, 3, 3]);
  });

  it("is split by number or by sizes, and its parts again, in the places of the whole", () => {
    const pool = new ResourcePool([4, 4], { name: "all" });
    const [left, right] = pool.split(2);
    expect([left!.processOnNodes, right!.processOnNodes]).toEqual([[4], [4]]);
    const parts = pool.split([3, 5]);
    expect(parts.map(({ processOnNodes }) => processOnNodes)).toEqual([[3], [1, 4]]);
    const [, last] = parts[1]!.split([1, 4]);
    expect(last!.places.map(({ bundle, rank, root }) => [bundle, rank, root === pool])).toEqual([
      [4, 0, true],
      [5, 1, true],
      [6, 2, true],
      [7, 3, true],
    ]);
    const merged = left!.merge(right!);
    expect(merged.places.map(({ bundle, localRank }) => [bundle, localRank])).toEqual(
      [0, 1, 2, 3, 0, 1, 2, 3].map((localRank, bundle) => [bundle, localRank]),
    );
    expect(merged.roots).toEqual([pool]);
  });

  it("merges with one whose places hold the same, in whatever order they were named", () => {
    const [one, other] = [
      { CPU: 1, GPU: 2 },
      { GPU: 2, CPU: 1 },
    ].map((perPlace) => new ResourcePool([1], { perPlace }));
    expect(one!.merge(other!).worldSize).toBe(2);
    expect(one!.merge(new ResourcePool([1], { perPlace: { CPU: 1, GPU: 2, TPU: 0 } })).worldSize).toBe(2);
  });

  it("refuses parts that do not come to the whole, and pools that differ", () => {
    const pool = new ResourcePool([4]);
    expect(() => pool.split(3)).toThrow("do not make 3 equal parts");
    expect(() => pool.split([1, 2])).toThrow("parts of 1, 2");
    expect(() => pool.merge(new ResourcePool([1], { perPlace: { GPU: 1 } }))).toThrow("hold different things");
    expect(() => pool.merge(pool.split(2)[0]!)).toThrow("share places");
    expect(() => new ResourcePool([0])).toThrow("[0]");
  });

  it("has as many places as a large cluster, and no more than can be listed", () => {
    const pool = new ResourcePool([65_535, 1]);
    expect(pool.processOnNodes).toEqual([65_535, 1]);
    expect(pool.places.at(-1)).toMatchObject({ rank: 65_535, localRank: 0, localWorldSize: 1 });
    for (const [processes, places] of [
      [[1e9], "1000000000"],
      [[65_536, 1], "65537"],
    ] as const) {
      expect(() => new ResourcePool(processes)).toThrow(
        expect.objectContaining({
          code: "VERL_CONTROLLER_POOL",
          message: `The pool "pool" is asked for ${places} places, and has at most 65536.`,
        }),
      );
    }
  });
});

describe("a resource pool that is asked for nonsense", () => {
  it.each<[object, string]>([
    [{ useGpu: true }, 'no option "useGpu"'],
    [{ maxColocateCount: 0 }, "0 worker groups side by side"],
    [{ maxColocateCount: -1 }, "-1 worker groups side by side"],
    [{ maxColocateCount: 1.5 }, "1.5 worker groups side by side"],
    [{ maxColocateCount: "2" }, "a string worker groups side by side"],
    [{ perPlace: { CPU: -1 } }, "-1 of CPU"],
    [{ perPlace: { CPU: 1, GPU: NaN } }, "NaN of GPU"],
    [{ perPlace: { CPU: Infinity } }, "Infinity of CPU"],
    [{ perPlace: { CPU: "1" } }, "a string of CPU"],
    [{ perPlace: {} }, "hold nothing"],
    [{ perPlace: { CPU: 0 } }, "hold nothing"],
    [{ perPlace: null }, "hold nothing"],
    [{ perPlace: 3 }, "hold nothing"],
  ])("holds no such thing: %j", (options, words) => {
    expect(() => new ResourcePool([1], options)).toThrow(
      expect.objectContaining({
        code: "VERL_CONTROLLER_POOL",
        message: expect.stringContaining(words),
        hint: expect.any(String),
      }),
    );
  });

  it.each([
    [2, "a number"],
    ["2", "a string"],
    [undefined, "undefined"],
    [null, "null"],
    [{}, "an object"],
  ])("is refused with words: %j", (given, words) => {
    expect(() => new ResourcePool(given as unknown as number[])).toThrow(
      expect.objectContaining({
        code: "VERL_CONTROLLER_POOL",
        message: `The pool "pool" is given ${words} in place of a list of the processes on each machine.`,
      }),
    );
  });

  it.each([0, -1, NaN, 1.5, 1e10, Infinity, "2", undefined, {}, [], [2, 2.5], [4.5, -0.5], ["4"]])(
    "makes no such parts: %j",
    (parts) => {
      expect(() => new ResourcePool([4]).split(parts as number)).toThrow(
        expect.objectContaining({
          code: "VERL_CONTROLLER_POOL",
          message: expect.stringMatching(/^The 4 places of "pool" do not make /),
        }),
      );
    },
  );
});

const node = (name: string, free: number, total = 8, who?: string): NodeResources => ({
  node: name,
  total: { GPU: total },
  free: { GPU: free },
  holders: who === undefined ? [] : [{ who, holds: { GPU: total - free } }],
});

describe("a resource pool manager", () => {
  const manager = new ResourcePoolManager(
    { global_pool: [4, 4], reward_pool: [2] },
    { actor: "global_pool", critic: "global_pool", reward: "reward_pool" },
    { perPlace: { GPU: 1 } },
  );

  it("gives each role its pool", () => {
    expect(manager.getResourcePool("critic")).toBe(manager.getResourcePool("actor"));
    expect(manager.getResourcePool("reward").worldSize).toBe(2);
    expect(manager.worldSize).toBe(10);
    expect(() => new ResourcePoolManager({ a: [1] }, { actor: "b" })).toThrow('the pool "b", which does not exist');
  });

  it("plans machines for pools: what is wanted, what there is, and who holds the rest", () => {
    const plan = manager.plan([node("10.0.0.1", 1, 8, "job 7"), node("10.0.0.2", 8)]);
    expect(plan.fits).toBe(false);
    expect(plan.possible).toBe(true);
    expect(plan.lines).toContain("Wanted by global_pool: 8 ranks on 2 machines, each rank 1 GPU.");
    expect(plan.lines).toContain("Available on 10.0.0.1: 1 GPU of 8 GPU; job 7 holds 7 GPU.");
    expect(manager.plan([node("a", 6), node("b", 4)]).fits).toBe(true);
    expect(manager.plan([node("a", 4, 4)]).possible).toBe(false);
  });

  it("has room for parts of a resource that come to the whole but for a rounding", () => {
    const third = { GPU: 0.1 };
    const plan = new ResourcePoolManager({ p: [3] }, {}, { perPlace: third }).plan([node("a", 0.3, 0.3)]);
    expect(plan.fits).toBe(true);
    const ones = new ResourcePoolManager({ p: new Array<number>(10).fill(1) }, {}, { perPlace: third });
    expect(ones.plan([node("a", 1, 1)]).fits).toBe(true);
    expect(ones.plan([node("a", 0.9999, 0.9999)]).possible).toBe(false);
    expect(new ResourcePoolManager({ p: [3] }, {}, { perPlace: third }).plan([node("a", 0.299, 0.299)]).fits).toBe(
      false,
    );
  });

  it("finds room for bundles that the largest first would leave none for", () => {
    const pool = (...bundles: number[]) => new ResourcePoolManager({ p: bundles }, {}, { perPlace: { GPU: 1 } });
    expect(pool(4, 4, 3, 3, 3, 3).plan([node("a", 10), node("b", 10)]).fits).toBe(true);
    expect(pool(4, 4, 4, 3, 3, 3).plan([node("a", 10), node("b", 10)]).possible).toBe(false);
    const started = process.cpuUsage();
    const many = Array.from({ length: 40 }, (_, index) => 3 + (index % 5));
    const machines = Array.from({ length: 20 }, (_, index) => node(`m${index}`, 9 + (index % 2)));
    expect(pool(...many).plan(machines).possible).toBe(false);
    const { user, system } = process.cpuUsage(started);
    expect(user + system).toBeLessThan(5_000_000);
  });

  it("waits for what others hold until the deadline, and does not wait for what is not there", async () => {
    let asked = 0;
    const cluster = (frees: number): Transport =>
      Object.assign(new InlineTransport(), {
        resources: () => Promise.resolve([node("a", ++asked < frees ? 0 : 8, 8, "job 7"), node("b", 8)]),
      });
    const told: string[] = [];
    await manager.waitForResources(cluster(2), { deadlineS: 25, tell: (line) => void told.push(line) });
    expect(told).toContain("Waiting for resources, at most 25 s.");
    const error = await manager
      .waitForResources(cluster(Infinity), { deadlineS: 0.05, tell: () => undefined })
      .catch((reason: unknown) => reason);
    expect(error).toMatchObject({
      code: "VERL_CONTROLLER_POOL",
      message: expect.stringContaining("job 7 holds 8 GPU"),
      // There is no transport that reaches more.
      hint: expect.stringMatching(/^Ask for fewer ranks [^:]*, or free what others hold\.$/),
    });
    const none = Object.assign(new InlineTransport(), { resources: () => Promise.resolve([node("a", 1, 1)]) });
    // Longer than a test may take.
    await expect(manager.waitForResources(none, { deadlineS: 3600, tell: () => undefined })).rejects.toThrow("no room");
  });
});

describe("a resource pool manager whose transport does not say what there is", () => {
  const manager = new ResourcePoolManager({ own: [1] }, {});
  const silent = Object.assign(new InlineTransport(), { resources: () => new Promise<never>(() => undefined) });
  const tell = (): void => undefined;

  it("waits until the deadline, and says so", async () => {
    await expect(manager.waitForResources(silent, { deadlineS: 0.2, tell })).rejects.toMatchObject({
      code: "VERL_CONTROLLER_POOL",
      message: expect.stringMatching(
        /^The transport has not said within 0.2 s what there is\.\nWanted by own: 1 rank on one/,
      ),
    });
  });

  it("tells what it knew where only a later answer does not come", async () => {
    let asked = 0;
    const later = Object.assign(new InlineTransport(), {
      resources: () =>
        ++asked === 1
          ? Promise.resolve([{ ...node("a", 0, 8, "job 7"), total: { CPU: 8 }, free: { CPU: 0 } }])
          : new Promise<never>(() => undefined),
    });
    await expect(manager.waitForResources(later, { deadlineS: 1.5, tell })).rejects.toThrow(
      /^There is no room for the worker groups after 1.5 s\.\n(.*\n)*Available on a: 0 CPU of 8 CPU; job 7/,
    );
    expect(asked).toBe(2);
  });

  it("gives up when it is told to, with the reason", async () => {
    const controller = new AbortController();
    const waiting = failure(manager.waitForResources(silent, { deadlineS: 60, tell, signal: controller.signal }));
    const reason = new Error("enough");
    controller.abort(reason);
    expect(await waiting).toBe(reason);
  });

  it("waits for any time without end", async () => {
    const plan = manager.waitForResources(new InlineTransport(), { deadlineS: Infinity, tell });
    expect((await plan).fits).toBe(true);
  });
});

describe.each<[string, () => Transport]>([
  ["inline", () => new InlineTransport()],
  ["thread", () => new ThreadTransport()],
])("the resource plan of the transport %s", (_, make) => {
  const wait = async (processes: number[], perPlace?: Resources): Promise<readonly string[]> => {
    const manager = new ResourcePoolManager({ g: processes, h: [1] }, { actor: "g" }, { perPlace });
    const plan = await manager.waitForResources(make(), { deadlineS: 60, tell: () => undefined });
    expect(plan).toMatchObject({ fits: true, possible: true });
    return plan.lines;
  };

  it("has room for any number of ranks, which share the cores", async () => {
    expect((await wait([1000])).at(-1)).toMatch(
      /^Available on this machine: \d+ CPU of \d+ CPU, which any number of ranks share; it is one machine\.$/,
    );
  });

  it.each<[number[], Resources | undefined, string]>([
    [[1], { CPU: 1, GPU: 1 }, "Wanted by g: 1 rank on one machine, each rank 1 CPU and 1 GPU."],
    [[1], { TPU: 2 }, "Wanted by g: 1 rank on one machine, each rank 2 TPU."],
    [[1, 1], undefined, "Wanted by g: 2 ranks on 2 machines, each rank 1 CPU."],
  ])("has none for devices and machines that are not there: %j of %j", async (processes, perPlace, wanted) => {
    expect(await failure(wait(processes, perPlace))).toMatchObject({
      code: "VERL_CONTROLLER_POOL",
      message: expect.stringContaining(`There is no room for the worker groups.\n${wanted}\n`),
      hint: expect.stringContaining("ray"),
    });
  });

  it("is that of a start, but that machines are stood in for", async () => {
    const transport = make();
    const create = (pool: ResourcePool) => WorkerGroup.create(Actor, [7], { transport, pool });
    const devices = new ResourcePool([1, 1], { perPlace: { GPU: 4 } });
    expect(await failure(create(devices))).toMatchObject({
      code: "VERL_CONTROLLER_POOL",
      message: expect.stringContaining(
        "There is no room for the worker groups.\nWanted by pool: 2 ranks on 2 machines",
      ),
    });
    if (transport instanceof InlineTransport) {
      const group = await create(new ResourcePool([1, 1], { perPlace: { CPU: 8, GPU: 0 } }));
      expect(await group.work("at")).toEqual(["actor at 7 0/2", "actor at 7 1/2"]);
      await group.dispose();
    }
    await transport.close();
    expect((await failure(create(new ResourcePool([1])))).message).toContain("that this program has closed");
  });
});

class Actor extends Worker {
  constructor(
    context: WorkerContext,
    readonly size: number,
  ) {
    super(context);
  }

  @register({ dispatchMode: "ONE_TO_ALL" })
  work(word: string): Promise<string> {
    return Promise.resolve(`actor ${word} ${this.size} ${this.rank}/${this.worldSize}`);
  }
}

class Critic extends Worker {
  static disposed = 0;

  @register({ dispatchMode: "ONE_TO_ALL" })
  work(): Promise<string> {
    return Promise.resolve(`critic beside an actor of ${(this.colleagues.get("actor") as Actor).size}`);
  }

  override dispose(): void {
    Critic.disposed++;
  }
}

describe("colocated workers", () => {
  const classes = () =>
    createColocatedWorkerClass({ actor: new ClassWithInitArgs(Actor, 3), critic: new ClassWithInitArgs(Critic) });

  it("share the ranks, have a group each, and know each other", async () => {
    const both = await WorkerGroup.start(classes(), { worldSize: 2 });
    const { actor, critic } = both.spawn();
    expect(await actor.work("says")).toEqual(["actor says 3 0/2", "actor says 3 1/2"]);
    expect(await critic.work()).toEqual(new Array(2).fill("critic beside an actor of 3"));
    expect(await both.call("critic_work")).toEqual(await critic.work());
    Critic.disposed = 0;
    await both.dispose();
    await actor.dispose();
    expect(Critic.disposed).toBe(0);
    await critic.dispose();
    expect(Critic.disposed).toBe(2);
  });

  it("refuse roles that they do not have", async () => {
    const both = await WorkerGroup.start(classes());
    expect(() => (both as unknown as WorkerGroup).spawn(["ref"])).toThrow('no colocated worker "ref"');
    expect(() => createColocatedWorkerClass({ "1st": new ClassWithInitArgs(Critic) })).toThrow('"1st"');
  });

  it("are told their place by the environment, which nobody else may set", async () => {
    class Seer extends Worker {
      @register({ dispatchMode: "ONE_TO_ALL" })
      see(): Promise<unknown> {
        return Promise.resolve({ ...this.env, local: this.localRank });
      }
    }
    const pool = new ResourcePool([1, 2]);
    const group = await WorkerGroup.create(Seer, [], { pool, env: { MINE: "1" } });
    expect((await group.see())[2]).toEqual({
      MINE: "1",
      RANK: "2",
      WORLD_SIZE: "3",
      LOCAL_RANK: "1",
      LOCAL_WORLD_SIZE: "2",
      local: 1,
    });
    await expect(WorkerGroup.create(Seer, [], { env: { RANK: "9" } })).rejects.toMatchObject({
      code: "VERL_WORKER_ENV",
    });
  });
});
