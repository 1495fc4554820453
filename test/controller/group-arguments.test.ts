import { beforeAll, expect, it } from "@jest/globals";
import { ClassWithInitArgs } from "../../core/controller/class-with-init-args.ts";
import { createColocatedWorkerClass } from "../../core/controller/colocated.ts";
import { nothingLive, pack } from "../../core/controller/payload.ts";
import { register } from "../../core/controller/register.ts";
import { ResourcePool } from "../../core/controller/resource-pool.ts";
import { ResourcePoolManager } from "../../core/controller/resource-pool-manager.ts";
import { Worker } from "../../core/controller/worker.ts";
import { WorkerGroup } from "../../core/controller/worker-group.ts";
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
  expect((await attempt(() => createColocatedWorkerClass(never(null)))).code).toBe("VERL_CONTROLLER_POOL");
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
