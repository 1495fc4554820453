import { beforeAll, expect, it } from "@jest/globals";
import { ClassWithInitArgs } from "../../core/controller/class-with-init-args.ts";
import { createColocatedWorkerClass } from "../../core/controller/colocated.ts";
import { nothingLive, pack } from "../../core/controller/payload.ts";
import { register } from "../../core/controller/register.ts";
import { ResourcePool } from "../../core/controller/resource-pool.ts";
import { ResourcePoolManager } from "../../core/controller/resource-pool-manager.ts";
import { Worker } from "../../core/controller/worker.ts";
import { WorkerGroup } from "../../core/controller/worker-group.ts";
import { createLogger } from "../../core/registry/index.ts";
import { failure } from "./failure.ts";
import { loadPlugin } from "./load-dispatch-modes.ts";

/* What a program that is not type-checked may hand over. */

beforeAll(loadPlugin);

class Who extends Worker {
  @register({ dispatchMode: "ONE_TO_ALL" })
  who(): Promise<number> {
    return Promise.resolve(this.rank);
  }
}

class Stranger {}

/** What is thrown, at once or by the promise. */
const attempt = (work: () => unknown) => failure(Promise.resolve().then(work));

const never = (value: unknown): never => value as never;

it.each<[string, () => unknown, string, string]>([
  ["no class", () => WorkerGroup.create(never(null), []), "cannot be made of null.", "a class that extends Worker"],
  [
    "a class of something else",
    () => WorkerGroup.create(never(Stranger), []),
    "of Stranger, which does not",
    "extends",
  ],
  [
    "an arrow",
    () =>
      WorkerGroup.create(
        never(() => 1),
        [],
      ),
    "which does not extend Worker",
    "extends",
  ],
  ["no arguments", () => WorkerGroup.create(Who, never(undefined)), "arguments of Who are undefined", "(Who, [], …)"],
  [
    "no options",
    () => WorkerGroup.create(Who, [], never(null)),
    "group of Who is given null",
    "Options of a group: world",
  ],
  ["a misspelt option", () => WorkerGroup.create(Who, [], never({ wordSize: 2 })), '"wordSize"', '"worldSize"?'],
  [
    "a name as transport",
    () => WorkerGroup.create(Who, [], { transport: never("thread") }),
    '"thread" as `transport`',
    "new",
  ],
  ["a number as pool", () => WorkerGroup.create(Who, [], { pool: never(2) }), "a number as `pool`", "a ResourcePool"],
  ["a class to start", () => WorkerGroup.start(never(Who)), "the class Who as it is", "new ClassWithInitArgs(Who, …)"],
  ["nothing to start", () => WorkerGroup.start(never(null)), "A worker group is given null", "ClassWithInitArgs"],
  [
    "a class as a role",
    () => createColocatedWorkerClass({ a: never(Who) }),
    '"a" is given the class Who',
    "new ClassWith",
  ],
  [
    "a number as a role",
    () => createColocatedWorkerClass({ a: never(1) }),
    '"a" is given a number',
    "ClassWithInitArgs",
  ],
  ["no roles", () => createColocatedWorkerClass({}), "There is no worker to be colocated.", "at least one"],
  [
    "a role that is no name",
    () => createColocatedWorkerClass({ "1st": new ClassWithInitArgs(Who) }),
    '"1st"',
    "a letter",
  ],
  [
    "colocated workers as a role",
    () => createColocatedWorkerClass({ x: createColocatedWorkerClass({ a: new ClassWithInitArgs(Who) }) }),
    'The colocated worker "x" is made of colocated workers itself: a.',
    "side by side",
  ],
  [
    "a pool of another size",
    () => WorkerGroup.create(Who, [], { worldSize: 2, pool: new ResourcePool([1, 2]) }),
    "The group of Who is given 2 as `worldSize` and a pool of 3.",
    "Leave `worldSize` out",
  ],
  ["no class with arguments", () => new ClassWithInitArgs(never(undefined)), "be made of undefined", "extends Worker"],
])("a group says what it takes: %s", async (_, make, message, hint) => {
  const error = await attempt(make);
  expect(error).toMatchObject({
    code: "VERL_WORKER_ARGUMENT",
    message: expect.stringContaining(message),
    hint: expect.stringContaining(hint),
  });
});

it("no roles, and no pool to merge with, are told as that", async () => {
  expect((await attempt(() => createColocatedWorkerClass(never(null)))).code).toBe("VERL_WORKER_ARGUMENT");
  const error = await attempt(() => new ResourcePool([1]).merge(never(null)));
  expect(error).toMatchObject({ code: "VERL_CONTROLLER_POOL", message: 'The pool "pool" does not merge with null.' });
});

it("near names of methods, roles and pools are told", async () => {
  const group = await WorkerGroup.create(Who, []);
  expect((await failure(group.call("whoo"))).hint).toMatch(/^Did you mean "who"\? Registered methods: /);
  const both = await WorkerGroup.start(createColocatedWorkerClass({ critic: new ClassWithInitArgs(Who) }));
  const spawn = attempt(() => both.spawn(never(["critik"])));
  expect((await spawn).hint).toBe('Did you mean "critic"? Its workers are critic.');
  const pools = (role: string, pool: string) => () =>
    new ResourcePoolManager({ critic_pool: [1] }, { critic: pool }).getResourcePool(never(role));
  expect((await attempt(pools("critic", "critic_pol"))).hint).toBe('Did you mean "critic_pool"? Pools: critic_pool.');
  expect((await attempt(pools("critik", "critic_pool"))).hint).toBe('Did you mean "critic"? Mapped: critic.');
  await Promise.all([group.dispose(), both.dispose()]);
});

it.each([["length"], ["0"], [1.5], [-1], [7], [null]])(
  "a call on the rank %j that there is not says which there are",
  async (rank) => {
    const group = await WorkerGroup.create(Who, [], { worldSize: 2 });
    const error = await failure(group.executeRank(never(rank), "who"));
    expect(error).toMatchObject({ code: "VERL_DISPATCH_ARGUMENTS", hint: "Its ranks are 0 to 1." });
    expect(error.message).toMatch(/^Who has no rank (that is (a string|null)|[-.\d]+) to call who on\.$/);
    await group.dispose();
  },
);

it("a live thing that cannot cross where it is says what can there", async () => {
  const { signal } = new AbortController();
  const error = await attempt(() => pack([{ signal }], "the result of actor.step", nothingLive));
  expect(error.message).toBe("the result of actor.step holds an AbortSignal, which only arguments of a call may hold.");
  expect(error.hint).not.toMatch(/AbortSignal|Listener/);
});

it.each<[unknown, string]>([
  [undefined, "that is undefined"],
  [Symbol("q"), "that is a symbol"],
  [null, "that is null"],
  [{}, "that is an object"],
  ["", '""'],
])("a call of no method is a call that fails: %p", async (method, words) => {
  const lines: string[] = [];
  const log = createLogger({ write: (line) => void lines.push(line) });
  const group: WorkerGroup = await WorkerGroup.create(Who, [], { log });
  const name = never(method);
  const ways = (): Promise<unknown>[] => [
    group.call(name),
    group.executeRank(0, name),
    group.executeRankZero(name),
    group.executeAllSync(name),
    ...group.executeAll(name),
  ];
  for (const call of ways()) {
    expect(await failure(call)).toMatchObject({
      code: "VERL_WORKER_METHOD_UNKNOWN",
      message: `Who has no registered method ${words}.`,
      hint: expect.stringMatching(/^Registered methods: who, /),
    });
  }
  const count = ways().length;
  while (lines.length < count) await new Promise((resolve) => setImmediate(resolve));
  expect(lines[0]).toContain("failed, and nobody waited for it: Who has no registered method");
  await group.dispose();
});

it("a mesh that is no name is a call that fails", async () => {
  const group = await WorkerGroup.create(Who, []);
  expect(await failure(group.mesh(never(Symbol("q"))))).toMatchObject({
    code: "VERL_WORKER_MESH",
    message: "Who is asked for a mesh that is a symbol.",
  });
  await group.dispose();
});

it.each<[unknown, string, string]>([
  ["critic", 'both is to spawn "critic" in place of a list of roles.', 'Give a list: ["critic"].'],
  [3, "both is to spawn a number in place of a list of roles.", 'Give a list: ["actor"].'],
  [[Symbol("q")], "both has no colocated worker that is a symbol.", "Its workers are critic."],
])("roles are spawned by a list: %p", async (roles, message, hint) => {
  const workers = createColocatedWorkerClass({ critic: new ClassWithInitArgs(Who) });
  const both = await WorkerGroup.start(workers, { name: "both" });
  expect(await attempt(() => both.spawn(never(roles)))).toMatchObject({ message, hint });
  await both.dispose();
});

it.each<[unknown, string]>([
  [3, "a number"],
  [undefined, "undefined"],
  [{}, "an object"],
])("a variable of the environment is a text: %p", async (value, kind) => {
  expect(await failure(WorkerGroup.create(Who, [], { env: { LAYERS: never(value) } }))).toMatchObject({
    code: "VERL_WORKER_ENV",
    message: `The environment of Who gives LAYERS ${kind} in place of a text.`,
    hint: expect.any(String),
  });
});
