import { afterAll, beforeAll, describe, expect, it, jest } from "@jest/globals";
import { DataProto } from "../../core/batch/data-proto.ts";
import { ClassWithInitArgs } from "../../core/controller/class-with-init-args.ts";
import { createColocatedWorkerClass } from "../../core/controller/colocated.ts";
import { InlineTransport } from "../../core/controller/inline-transport.ts";
import { ThreadTransport } from "../../core/controller/thread/thread-transport.ts";
import type { Transport } from "../../core/controller/transport.ts";
import { WorkerGroup } from "../../core/controller/worker-group.ts";
import { failure } from "./failure.ts";
import { loadPlugin } from "./load-dispatch-modes.ts";
import { Fragile } from "./workers/fragile.ts";
import { MeshedRole } from "./workers/meshed-role.ts";

// The threads' sources are compiled when they start.
jest.setTimeout(300_000);

beforeAll(loadPlugin);

const rows = DataProto.fromSingleDict({ at: ["0", "1", "2", "3"] });

describe.each<[string, () => Transport]>([
  ["inline", () => new InlineTransport()],
  ["in threads", () => new ThreadTransport()],
])("colocated workers %s", (_, make) => {
  const transport = make();
  const start = () =>
    WorkerGroup.start(
      createColocatedWorkerClass({
        m: new ClassWithInitArgs(MeshedRole, false),
        m_back: new ClassWithInitArgs(MeshedRole, true),
      }),
      { worldSize: 2, transport, name: "both" },
    );

  afterAll(() => transport.close());

  it("stand in meshes of their own, by the group's prefixed methods as by a role's", async () => {
    const both = await start();
    const { m, m_back: back } = both.spawn();
    for (const result of [both.call("m_same", rows), both.call("m_back_same", rows), m.same(rows), back.same(rows)]) {
      expect(((await result) as DataProto).equals(rows)).toBe(true);
    }
    const forth = [
      [0, 0, 1],
      [1, 2, 3],
    ];
    const reversed = [
      [1, 0, 1],
      [0, 2, 3],
    ];
    expect([await both.call("m_shares", rows), await m.shares(rows)]).toEqual([forth, forth]);
    expect([await both.call("m_back_shares", rows), await back.shares(rows)]).toEqual([reversed, reversed]);
    expect(await back.mesh("own")).toEqual([1, 0].map((dpRank) => ({ dpRank, isCollect: true })));
    await Promise.all([both, m, back].map((group) => group.dispose()));
  });

  it("are asked where they stand one by one: the group of all has no mesh of its own", async () => {
    const both = await start();
    expect(await failure(both.mesh("own"))).toMatchObject({
      code: "VERL_WORKER_METHOD_UNKNOWN",
      hint: expect.stringContaining("m_back_queryMesh"),
    });
    await both.dispose();
  });

  it("say which method's mesh they do not stand in", async () => {
    const both = await start();
    const { m } = both.spawn(["m"]);
    await both.dispose();
    for (let round = 0; round < 2; round++) {
      expect(await failure(m.lost())).toMatchObject({
        code: "VERL_WORKER_MESH",
        message: expect.stringMatching(/^Rank [01] does not stand in a mesh "other"; the call was both\.m\.lost\.$/),
        details: { rank: expect.any(Number), method: "lost" },
      });
    }
    await m.dispose();
  });

  it("have one group for a role that is wanted twice, and none once the group that makes them is disposed", async () => {
    const both = await start();
    const groups = both.spawn(["m", "m"]);
    await both.dispose();
    expect(() => both.spawn()).toThrow("both has been disposed; the call was spawn.");
    expect(await groups.m.fine()).toEqual([0, 1]);
    await groups.m.dispose();
    // No group holds the ranks any more.
    expect(() => both.spawn()).toThrow("both has been disposed; the call was spawn.");
    expect(await failure(groups.m.mesh("own"))).toMatchObject({ code: "VERL_WORKER_DIED" });
  });

  it("end with the last group, once", async () => {
    const own = make();
    const ended: string[] = [];
    const spawn = own.spawn.bind(own);
    const watched = Object.assign(own, {
      spawn: async (request: Parameters<typeof spawn>[0]) => {
        const handles = await spawn(request);
        for (const handle of handles) {
          const dispose = handle.dispose.bind(handle);
          handle.dispose = () => {
            ended.push(handle.place);
            return dispose();
          };
        }
        return handles;
      },
    });
    const both = await WorkerGroup.start(createColocatedWorkerClass({ m: new ClassWithInitArgs(MeshedRole, false) }), {
      transport: watched,
    });
    const { m } = both.spawn(["m", "m"]);
    await both.dispose();
    expect(ended).toHaveLength(0);
    await m.dispose();
    expect(ended).toHaveLength(1);
    await own.close();
  });
});

it("have no more groups made of them once a rank has died: the death is told at once", async () => {
  const transport = new ThreadTransport();
  const workers = createColocatedWorkerClass({ m: new ClassWithInitArgs(Fragile) });
  const both = await WorkerGroup.start(workers, { worldSize: 2, transport, name: "both" });
  const { m } = both.spawn();
  expect(await failure(m.exitOn(1))).toMatchObject({ code: "VERL_WORKER_DIED" });
  expect(await failure(Promise.resolve().then(() => both.spawn()))).toMatchObject({
    code: "VERL_WORKER_DIED",
    message: expect.stringMatching(/^Rank 1 of both \(thread \d+\) exited with code 3; the call was spawn\.$/),
    details: { rank: 1, reason: "exited with code 3" },
  });
  // The ranks end with those groups that there are.
  await Promise.all([both, m].map((group) => group.dispose()));
  expect(() => both.spawn()).toThrow("both has been disposed; the call was spawn.");
  await transport.close();
});
