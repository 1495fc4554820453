import { DataProto } from "../../core/batch/data-proto.ts";
import {
  joinBatches,
  ndCompute,
  ndComputeDataProto,
  shareArguments,
  type DispatchMode,
} from "../../core/controller/index.ts";
import { VerlError } from "../../core/errors/index.ts";
import { definePlugin, loadPlugins, provide, registerPlugin, registries } from "../../core/registry/index.ts";
import { testDispatchMode, type DispatchCase, type DispatchSuiteOptions } from "../../core/testing/index.ts";
import { faultsOfData, testFaults } from "./faults.ts";

await loadPlugins([]);

const rows = (...values: number[]): DataProto => DataProto.fromSingleDict({ at: Int32Array.from(values) });
const padded = (batch: DataProto, ranks: number): DataProto[] => batch.padToDivisor(ranks).chunk(ranks);

const joined: DispatchCase = {
  name: "three rows on two ranks",
  input: { worldSize: 2, args: [rows(7, 8, 9), "same"] },
  expected: { lists: padded(rows(7, 8, 9), 2).map((share) => [share, "same"]), result: rows(7, 8, 9) },
};
const work = (): Promise<void> => Promise.resolve();

/** A worked example of each built-in mode, and why some are not as others. */
const BUILT_IN: Readonly<Record<string, Omit<DispatchSuiteOptions, "cases"> & { readonly one: DispatchCase }>> = {
  ALL_TO_ALL: {
    one: {
      name: "laid out by the caller",
      input: { worldSize: 2, args: [["a", "b"]] },
      expected: { lists: [["a"], ["b"]], result: ["a", "b"] },
    },
  },
  DIRECT_ROLLOUT_METHOD: {
    one: { name: "a call", input: { worldSize: 1, args: [] }, expected: { error: "called through its group" } },
    except: {
      "each rank gets at most one list of arguments": "all calls through a group are refused",
      "results come back in the order of the ranks": "all calls through a group are refused",
      "the same call gives the same lists, and its arguments stay as they are": "all calls through a group are refused",
    },
  },
  DP_COMPUTE: {
    one: {
      name: "an element a rank",
      input: {
        worldSize: 2,
        args: [
          ["a", "b"],
          [1, 2],
        ],
        outputs: ["x", "y"],
      },
      expected: {
        lists: [
          ["a", 1],
          ["b", 2],
        ],
        result: ["x", "y"],
      },
    },
    wrong: () => [[["too", "few"]], ["no list"]],
  },
  DP_COMPUTE_METRIC: {
    one: {
      name: "padding is flagged",
      input: { worldSize: 2, args: [rows(7, 8, 9)], outputs: [2, 1] },
      expected: { lists: padded(rows(7, 8, 9), 2).map((share) => [share]), result: [2, 1] },
    },
    wrong: () => [[], ["no batch"], [rows(1), rows(1, 2)]],
  },
  DP_COMPUTE_PROTO: { one: joined },
  DP_COMPUTE_PROTO_WITH_FUNC: {
    one: {
      name: "rows that divide",
      input: { worldSize: 2, args: [work, rows(7, 8)], outputs: [rows(7), rows(8)] },
      expected: {
        lists: [
          [work, rows(7)],
          [work, rows(8)],
        ],
        result: rows(7, 8),
      },
    },
    wrong: (batch) => [[batch], ["no function", batch], [work]],
  },
  ONE_TO_ALL: {
    one: {
      name: "the same for all",
      input: { worldSize: 2, args: ["a", 1] },
      expected: {
        lists: [
          ["a", 1],
          ["a", 1],
        ],
        result: ["a", "a"],
      },
    },
  },
  RANK_ZERO: {
    one: { name: "the first alone", input: { worldSize: 2, args: ["a"] }, expected: { lists: [["a"]], result: ["a"] } },
  },
};

for (const key of registries.dispatch.keys()) {
  const { one, ...options } = BUILT_IN[key]!;
  testDispatchMode(key, { cases: [one], ...options });
}

const described = { description: "A mode of these tests." };
registerPlugin(
  definePlugin({
    name: "dispatch-over-a-mesh",
    version: "1.0.0",
    verl: "*",
    provides: [
      provide("dispatch", "test-nd-batch", { ...described, ...ndComputeDataProto("actor") }),
      provide("dispatch", "test-nd", { ...described, ...ndCompute("actor") }),
    ],
  }),
);
testDispatchMode("test-nd-batch", { cases: [joined] });
testDispatchMode("test-nd", {
  cases: [
    {
      name: "no batch goes to all",
      input: { worldSize: 2, args: ["a"] },
      expected: { lists: [["a"], ["a"]], result: ["a", "a"] },
    },
  ],
});

const honest: DispatchMode = {
  ...described,
  joinsBatches: true,
  dispatch: (target, args) => shareArguments(target, args, target.worldSize),
  collect: (_target, outputs, args) => joinBatches(outputs, args),
};
const collects = (collect: DispatchMode["collect"]): DispatchMode => ({ ...honest, collect });
const dispatches = (dispatch: DispatchMode["dispatch"]): DispatchMode => ({ ...honest, dispatch });
const list: DispatchMode = {
  ...described,
  dispatch: ({ worldSize }, args) => Array.from({ length: worldSize }, () => args),
  collect: (_target, outputs) => outputs,
};
const joinAll = (outputs: readonly unknown[]): DataProto => DataProto.concat(outputs as DataProto[]);
let calls = 0;

const LISTS = "each rank gets at most one list of arguments";
const ROWS = "a batch comes back row for row, without padding";
const ORDER = "results come back in the order of the ranks";
const SAME = "the same call gives the same lists, and its arguments stay as they are";
const WRONG = "wrong arguments are refused in words that name the group";

testFaults("dispatch", {
  suite: testDispatchMode,
  honest,
  cases: [joined],
  wrongCases: [
    ["`lists` is", { ...joined, name: "other lists", expected: { lists: [["a"]] } }],
    ["`result` is", { ...joined, name: "another result", expected: { result: rows(7, 8) } }],
    ['it should say "no"; it takes the call', { ...joined, name: "an error", expected: { error: "no" } }],
    ["it refuses the call", { ...joined, name: "no batch", input: { worldSize: 2, args: [] } }],
  ],
  faults: [
    ...faultsOfData(honest),
    {
      property: LISTS,
      words: "1 ranks get 2 lists",
      entry: { ...list, dispatch: ({ worldSize }, args) => new Array<typeof args>(worldSize + 1).fill(args) },
    },
    { property: LISTS, words: "it gives", entry: { ...list, dispatch: () => ["no list"] as never } },
    {
      property: LISTS,
      words: "it threw TypeError",
      entry: dispatches((target, args) => {
        if (target.worldSize > 1) throw new TypeError("too many");
        return [args];
      }),
    },
    {
      property: ROWS,
      words: "1 rows go out and 2 come back",
      entry: collects((_target, outputs) => joinAll(outputs)),
    },
    {
      property: ROWS,
      words: "where ranks return batches without the flags of padding",
      entry: collects((_target, outputs) => joinAll(outputs).unpad()),
    },
    {
      property: ROWS,
      words: "other rows come back than went out",
      entry: collects((_target, outputs, args) => joinBatches([...outputs].reverse(), args)),
    },
    {
      property: ROWS,
      words: "is refused",
      entry: dispatches((target, args) => {
        if (target.worldSize > 2) throw new VerlError("VERL_DISPATCH_ARGUMENTS", "testers: three is refused.");
        return shareArguments(target, args, target.worldSize);
      }),
    },
    { property: ROWS, words: "it joins batches, and gives", entry: collects((_target, outputs) => outputs) },
    {
      property: ORDER,
      words: "ranks 0, 1 return, and [1,0] is what comes back",
      entry: { ...list, collect: (_target, outputs) => [...outputs].reverse() },
    },
    {
      property: SAME,
      words: "the second time it gives",
      entry: { ...list, dispatch: (_target, args) => [[...args, calls++]] },
    },
    {
      property: SAME,
      words: "it changes the batch",
      entry: dispatches((target, args) => {
        const batch = args.find((arg) => arg instanceof DataProto);
        batch?.tensor("number", "int32").data.fill(0);
        return shareArguments(target, args, target.worldSize);
      }),
    },
    { property: WRONG, words: "it takes the arguments []", entry: { ...list, joinsBatches: true } },
    {
      property: WRONG,
      words: "which is no VerlError",
      entry: dispatches((target, args) => {
        if (args.length === 0) throw new TypeError("no batch");
        return shareArguments(target, args, target.worldSize);
      }),
    },
    {
      property: WRONG,
      words: "without the group's name",
      entry: dispatches((target, args) => {
        if (args.length === 0) throw new VerlError("VERL_DISPATCH_ARGUMENTS", "No batch.");
        return shareArguments(target, args, target.worldSize);
      }),
    },
  ],
});
