import { afterAll, beforeAll, describe, expect, it, jest } from "@jest/globals";
import { DataProto } from "../../core/batch/data-proto.ts";
import { InlineTransport } from "../../core/controller/inline-transport.ts";
import { ThreadTransport } from "../../core/controller/thread/thread-transport.ts";
import type { Transport } from "../../core/controller/transport.ts";
import { WorkerGroup, type GroupOf } from "../../core/controller/worker-group.ts";
import { registries } from "../../core/registry/index.ts";
import { loadPlugin } from "./load-dispatch-modes.ts";
import { Chosen } from "./workers/chosen.ts";

// The threads' sources are compiled when they start.
jest.setTimeout(300_000);

const rows = DataProto.fromSingleDict({ at: ["0", "1", "2", "3", "4"] });

beforeAll(() => {
  loadPlugin();
  const choices: Readonly<Record<string, (count: number) => unknown>> = {
    throws: () => {
      throw new RangeError("no way");
    },
    none: () => undefined,
    beyond: (count) => [0, count],
    word: () => ["first"],
    twice: () => [0, 1, 0],
    empty: () => [],
    backwards: (count) => [...Array(count).keys()].reverse(),
  };
  for (const [name, ranks] of Object.entries(choices)) {
    const entry = { description: "Chooses ranks oddly.", ranks: ranks as (count: number) => number[] };
    registries.execute.register(`test-${name}`, entry);
  }
});

describe.each<[string, () => Transport]>([
  ["inline", () => new InlineTransport()],
  ["in threads", () => new ThreadTransport()],
])("an execute mode's ranks %s", (_, make) => {
  const transport = make();
  let group: GroupOf<Chosen>;

  beforeAll(async () => {
    group = await WorkerGroup.create(Chosen, [], { worldSize: 3, transport });
  });

  afterAll(async () => {
    await group.dispose();
    await transport.close();
  });

  it.each([
    ["throws", "could not choose the ranks of Chosen.throws: no way"],
    ["none", "gave undefined in place of a list of ranks for Chosen.none."],
    ["beyond", "chose rank 3 of 3 that have arguments for Chosen.beyond."],
    ["word", "chose a string as a rank of 3 that have arguments for Chosen.word."],
    ["twice", "chose rank 0 more than once for Chosen.twice."],
    ["empty", "chose no rank for Chosen.empty."],
  ] as const)("are refused as its own fault: %s", async (name, words) => {
    await expect(group[name]()).rejects.toMatchObject({
      code: "VERL_ENTRY_FAILED",
      message: `The execute mode "test-${name}" ${words}`,
      details: { executeMode: `test-${name}`, method: name },
    });
  });

  it("run in rank order, whatever order it gives", async () => {
    expect(await group.backwards()).toEqual([0, 1, 2]);
    expect((await group.backwardsBatch(rows)).equals(rows)).toBe(true);
  });

  it.each([
    ["firstBatch", '"DP_COMPUTE_PROTO"'],
    ["firstOverMesh", "of its own"],
  ] as const)("are all that hold rows to be joined: %s", async (method, mode) => {
    await expect(group[method](rows)).rejects.toMatchObject({
      code: "VERL_ENTRY_FAILED",
      message: `The execute mode "RANK_ZERO" leaves out rank 1 for Chosen.${method}, which holds rows that the dispatch mode ${mode} joins.`,
      details: { executeMode: "RANK_ZERO", method },
    });
    expect(await group.called()).toEqual([0, 0, 0]);
  });

  it("may be fewer where results come as a list", async () => {
    expect(await group.firstLength(rows)).toEqual([2]);
  });
});
