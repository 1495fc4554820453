import { inspect } from "node:util";
import { describe, expect, it } from "@jest/globals";
import { DataProto, IS_PAD, NdArray, TensorDict } from "../../core/batch/index.ts";
import { isVerlError } from "../../core/errors/verl-error.ts";
import { createRng } from "../../core/tensor/rng.ts";

const int32 = (...values: number[]): NdArray<"int32"> => new NdArray("int32", [values.length], Int32Array.from(values));
const batchOf = (...ids: number[]): DataProto =>
  DataProto.fromSingleDict({ ids: int32(...ids), name: ids.map((id) => `row ${id}`) }, { step: 3 });
const ids = (data: DataProto): number[] => [...data.tensor("ids", "int32").data];

function errorOf(act: () => unknown): { code: string; message: string; hint?: string } {
  try {
    act();
  } catch (error) {
    if (isVerlError(error)) return { code: error.code, message: error.message, hint: error.hint };
    throw error;
  }
  throw new Error("Nothing was thrown.");
}

describe("construction", () => {
  it("sorts NdArrays and typed arrays from columns", () => {
    const data = DataProto.fromSingleDict({ a: int32(1, 2), b: new Float32Array([1, 2]), c: ["x", "y"] });
    expect(data.batch.keys()).toEqual(["a", "b"]);
    expect(data.tensor("b").dtype).toBe("float32");
    expect(data.column("c")).toEqual(["x", "y"]);
    expect(data.length).toBe(2);
  });

  it("takes a column alone for its length", () => {
    expect(DataProto.fromDict({}, { c: [1, 2, 3] }).length).toBe(3);
    expect(new DataProto().length).toBe(0);
  });

  it("refuses fields of different lengths, names used twice and wrong element counts", () => {
    expect(errorOf(() => new TensorDict({ a: int32(1), b: int32(1, 2) })).message).toContain('"b" has 2 rows');
    expect(errorOf(() => DataProto.fromSingleDict({ a: int32(1), c: [1, 2] })).code).toBe("VERL_BATCH_SHAPE");
    expect(errorOf(() => DataProto.fromDict({ a: int32(1) }, { a: [1] })).code).toBe("VERL_BATCH_CONFLICT");
    expect(errorOf(() => new NdArray("int32", [2, 2], new Int32Array(3))).message).toContain("needs 4 elements");
    expect(errorOf(() => new NdArray("int32", [-1], new Int32Array(0))).code).toBe("VERL_BATCH_SHAPE");
  });

  it("names what there is when a field is missing or of another type", () => {
    const data = batchOf(1);
    expect(errorOf(() => data.tensor("id")).hint).toContain('"ids"');
    expect(errorOf(() => data.tensor("ids", "float32")).message).toContain("int32[1]");
    expect(errorOf(() => data.column("nam")).hint).toContain('"name"');
  });
});

describe("selecting", () => {
  it("shares the named parts and refuses unknown ones", () => {
    const data = batchOf(1, 2);
    const selected = data.select({ batchKeys: ["ids"], nonTensorBatchKeys: [] });
    expect(selected.tensor("ids")).toBe(data.tensor("ids"));
    expect(selected.nonTensorBatch.size).toBe(0);
    expect(selected.metaInfo).toEqual({ step: 3 });
    expect(errorOf(() => data.select({ nonTensorBatchKeys: ["nope"] })).code).toBe("VERL_BATCH_FIELD_MISSING");
    expect(errorOf(() => data.select({ metaInfoKeys: ["toString"] })).code).toBe("VERL_BATCH_FIELD_MISSING");
  });

  it("pops the named parts and nothing else", () => {
    const data = batchOf(1, 2);
    const taken = data.pop({ batchKeys: ["ids"] });
    expect(taken.batch.keys()).toEqual(["ids"]);
    expect(taken.nonTensorBatch.size + Object.keys(taken.metaInfo).length).toBe(0);
    expect(data.batch.size).toBe(0);
    expect(data.column("name")).toEqual(["row 1", "row 2"]);
  });

  it("renames tensors and columns, swaps included, and refuses to merge two", () => {
    const data = batchOf(1).rename({ ids: "name", name: "ids" });
    expect(data.batch.keys()).toEqual(["name"]);
    expect(data.column("ids")).toEqual(["row 1"]);
    expect(errorOf(() => batchOf(1).rename({ ids: "name" })).code).toBe("VERL_BATCH_CONFLICT");
    expect(errorOf(() => batchOf(1).rename({ toString: "x" })).code).toBe("VERL_BATCH_FIELD_MISSING");
  });

  it("gives rows as views", () => {
    const data = DataProto.fromSingleDict({
      m: new NdArray("int32", [2, 2], Int32Array.of(1, 2, 3, 4)),
      c: ["a", "b"],
    });
    const row = data.row(1);
    expect([...row.batch.get("m")!.data]).toEqual([3, 4]);
    expect(row.batch.get("m")!.data.buffer).toBe(data.tensor("m").data.buffer);
    expect(row.nonTensorBatch.get("c")).toBe("b");
    expect(errorOf(() => data.row(-1)).code).toBe("VERL_BATCH_INDEX");
    expect(errorOf(() => data.row(2)).message).toContain("2 rows");
  });
});

describe("union", () => {
  it("names both sizes and how often to repeat (report 66a)", () => {
    const left = batchOf(0, 1, 2, 3);
    const error = errorOf(() => left.union(batchOf(0, 1, 2, 3, 4, 5, 6, 7)));
    expect(error.message).toMatch(/4 rows .* 8 rows/);
    expect(error.hint).toContain("repeat(2)");
    expect(ids(left)).toEqual([0, 1, 2, 3]);
  });

  it("names the key and the first differing row (report 66b)", () => {
    const left = batchOf(1, 2, 3, 4);
    const error = errorOf(() => left.union(DataProto.fromSingleDict({ ids: int32(1, 2, 9, 4) })));
    expect(error.code).toBe("VERL_BATCH_CONFLICT");
    expect(error.message).toContain('"ids" first differs in row 2: [3] on the left, [9] on the right');
    expect(ids(left)).toEqual([1, 2, 3, 4]);
  });

  it("holds NaN equal to NaN and compares objects by value (reports 66c, 66d)", () => {
    const make = (): DataProto =>
      DataProto.fromSingleDict({ s: Float32Array.of(NaN, 1, 2, 3), o: [{ a: 1 }, { a: [NaN] }, null, {}] });
    expect(make().union(make()).equals(make())).toBe(true);
    const other = DataProto.fromSingleDict({ o: [{ a: 1 }, { a: [NaN] }, null, { b: 1 }] });
    expect(errorOf(() => make().union(other)).message).toContain("row 3");
  });

  it("keeps or replaces by policy, without touching the operands", () => {
    const [left, right] = [
      batchOf(1, 2),
      DataProto.fromSingleDict({ ids: int32(7, 8), more: int32(0, 0) }, { step: 4 }),
    ];
    expect(ids(left.union(right, "keep"))).toEqual([1, 2]);
    const replaced = left.union(right, "replace");
    expect(ids(replaced)).toEqual([7, 8]);
    expect(replaced.batch.has("more")).toBe(true);
    expect(replaced.metaInfo).toEqual({ step: 4 });
    expect(left.batch.keys()).toEqual(["ids"]);
    expect(errorOf(() => left.union(right)).code).toBe("VERL_BATCH_CONFLICT");
  });

  it("says which types differ", () => {
    const error = errorOf(() => batchOf(1).union(DataProto.fromSingleDict({ ids: new Float32Array(1) })));
    expect(error.message).toContain("int32[1] on the left and float32[1] on the right");
  });
});

describe("concat", () => {
  it("keeps object columns one-dimensional (report 71)", () => {
    const [left, right] = [
      [
        ["a", "b"],
        ["c", "d"],
      ],
      [["e"]],
    ].map((tags) => DataProto.fromSingleDict({ tags }));
    expect(DataProto.concat([left!, right!]).column("tags")).toEqual([["a", "b"], ["c", "d"], ["e"]]);
  });

  it("collects metrics to lists and refuses other facts that differ", () => {
    const part = (loss: number, step = 1): DataProto =>
      DataProto.fromSingleDict({ ids: int32(1) }, { step, metrics: { loss } });
    expect(DataProto.concat([part(1), part(2)]).metaInfo).toEqual({ step: 1, metrics: { loss: [1, 2] } });
    const again = DataProto.concat([DataProto.concat([part(1), part(2)]), part(3)]);
    expect(again.metaInfo.metrics).toEqual({ loss: [1, 2, 3] });
    expect(errorOf(() => DataProto.concat([part(1), part(2, 2)])).message).toContain('"step"');
    expect(DataProto.concat([part(1), part(2, 2)], { policy: "keep" }).metaInfo.step).toBe(1);
  });

  it("names a field that one part lacks, and shapes that differ", () => {
    const lone = errorOf(() => DataProto.concat([batchOf(1), DataProto.fromSingleDict({ ids: int32(2) })]));
    expect(lone.message).toContain('"name" is missing');
    const wide = (width: number): DataProto => new DataProto({ batch: { m: NdArray.zeros("int32", [1, width]) } });
    expect(errorOf(() => DataProto.concat([wide(2), wide(3)])).message).toContain("int32[1, 2] and int32[1, 3]");
  });

  it("passes over parts without fields, and makes none of none", () => {
    expect(ids(DataProto.concat([new DataProto(), batchOf(5)]))).toEqual([5]);
    expect(DataProto.concat([]).length).toBe(0);
  });

  it("writes into memory that is offered, unless a part lies there", () => {
    const parts = batchOf(1, 2, 3).split(2);
    const old = batchOf(9, 9, 9, 9);
    const joined = DataProto.concat(parts, { into: old });
    expect(ids(joined)).toEqual([1, 2, 3]);
    expect(joined.tensor("ids").data.buffer).toBe(old.tensor("ids").data.buffer);
    expect(ids(DataProto.concat([joined, joined.slice(0, 1)], { into: joined }))).toEqual([1, 2, 3, 1]);
    expect(ids(joined)).toEqual([1, 2, 3]);
  });
});

describe("cutting", () => {
  it("chunks unevenly as views, and evenly on request", () => {
    const data = batchOf(0, 1, 2, 3, 4, 5, 6, 7, 8, 9);
    const chunks = data.chunk(3);
    expect(chunks.map(ids)).toEqual([
      [0, 1, 2, 3],
      [4, 5, 6],
      [7, 8, 9],
    ]);
    expect(chunks[1]!.tensor("ids").data.buffer).toBe(data.tensor("ids").data.buffer);
    expect(batchOf(1).chunk(3).map(ids)).toEqual([[1], [], []]);
    const error = errorOf(() => data.chunk(3, { equal: true }));
    expect(error.message).toContain("9 and 12");
    expect(error.hint).toContain("padToDivisor(3)");
    expect(errorOf(() => data.chunk(0)).code).toBe("VERL_BATCH_SPLIT");
  });

  it("splits by size with a short last part", () => {
    expect(batchOf(0, 1, 2, 3, 4).split(2).map(ids)).toEqual([[0, 1], [2, 3], [4]]);
    expect(errorOf(() => batchOf(0, 1, 2).split(2, { equal: true })).code).toBe("VERL_BATCH_SPLIT");
  });

  it("slices with steps and negative bounds", () => {
    const data = batchOf(0, 1, 2, 3, 4);
    expect(ids(data.slice(1, 4))).toEqual([1, 2, 3]);
    expect(ids(data.slice(-2))).toEqual([3, 4]);
    expect(ids(data.slice(0, 5, 2))).toEqual([0, 2, 4]);
    expect(ids(data.slice(4, 1))).toEqual([]);
  });

  it("indexes by row numbers and by masks", () => {
    const data = batchOf(10, 11, 12);
    expect(ids(data.index([2, 0, 2]))).toEqual([12, 10, 12]);
    expect(ids(data.index([true, false, true]))).toEqual([10, 12]);
    expect(ids(data.index(new NdArray("bool", [3], Uint8Array.of(0, 1, 0))))).toEqual([11]);
    expect(data.index([2, 0]).column("name")).toEqual(["row 12", "row 10"]);
    expect(errorOf(() => data.index([true])).code).toBe("VERL_BATCH_SHAPE");
    expect(errorOf(() => data.index([3])).code).toBe("VERL_BATCH_INDEX");
    expect(errorOf(() => data.reorder([0, 1, 1])).code).toBe("VERL_BATCH_INDEX");
  });

  it("repeats interleaved or not, and by a count for each row", () => {
    expect(ids(batchOf(1, 2).repeat(2))).toEqual([1, 1, 2, 2]);
    expect(ids(batchOf(1, 2).repeat(2, { interleave: false }))).toEqual([1, 2, 1, 2]);
    expect(ids(batchOf(1, 2, 3).sampleLevelRepeat([2, 0, 1]))).toEqual([1, 1, 3]);
    expect(errorOf(() => batchOf(1).sampleLevelRepeat([1, 1])).code).toBe("VERL_BATCH_SHAPE");
  });

  it("iterates over mini-batches with epochs and a seed", () => {
    const data = batchOf(0, 1, 2, 3, 4, 5);
    expect([...data.makeIterator(4, { epochs: 2 })].map(ids)).toEqual([
      [0, 1, 2, 3],
      [4, 5],
      [0, 1, 2, 3],
      [4, 5],
    ]);
    const run = (seed: number): number[][] =>
      [...data.makeIterator(3, { epochs: 2, shuffle: createRng(seed) })].map(ids);
    expect(run(1)).toEqual(run(1));
    expect(run(1)).not.toEqual(run(2));
    const [a, b, c, d] = run(1);
    expect([...a!, ...b!].sort()).toEqual([0, 1, 2, 3, 4, 5]);
    expect([...c!, ...d!]).not.toEqual([...a!, ...b!]);
  });
});

describe("padding", () => {
  const masked = (...rows: number[]): DataProto =>
    batchOf(...rows).union(
      new DataProto({
        batch: { response_mask: new NdArray("int64", [rows.length, 2], new BigInt64Array(rows.length * 2).fill(1n)) },
      }),
    );

  it("pads beyond the batch's size by going round (report 68a)", () => {
    const padded = batchOf(0, 1).padToDivisor(8);
    expect(ids(padded)).toEqual([0, 1, 0, 1, 0, 1, 0, 1]);
    expect([...padded.validRows()]).toEqual([0, 1]);
    expect(ids(padded.unpad())).toEqual([0, 1]);
  });

  it("leaves a batch that divides, and an empty one (reports 68b, 68c)", () => {
    const data = batchOf(0, 1, 2, 3, 4, 5, 6, 7);
    expect(data.padToDivisor(4).unpad().length).toBe(8);
    expect(batchOf().padToDivisor(4).length).toBe(0);
    expect(batchOf().padToDivisor(4).unpad().equals(batchOf())).toBe(true);
  });

  it("flags padding rows and masks them out of every loss", () => {
    const padded = masked(5, 6, 7).padToDivisor(4);
    expect([...padded.tensor("response_mask").data]).toEqual([1n, 1n, 1n, 1n, 1n, 1n, 0n, 0n]);
    expect(padded.isPadRow(3)).toBe(true);
    expect(padded.isPadRow(0)).toBe(false);
  });

  it("keeps flags on their rows through reorder, select, pop, concat, chunk and fold", () => {
    const data = masked(5, 6, 7);
    const turned = data.padToDivisor(4).reorder([3, 2, 1, 0]);
    expect(ids(turned.unpad())).toEqual([7, 6, 5]);
    expect(turned.select({ batchKeys: ["ids"] }).batch.has(IS_PAD)).toBe(true);
    expect(
      turned
        .slice()
        .pop({ batchKeys: ["ids", IS_PAD] })
        .isPadRow(0),
    ).toBe(true);
    expect([...DataProto.concat([data, turned]).validRows()]).toEqual([0, 1, 2, 4, 5, 6]);
    expect(turned.chunk(2).map((part) => [...part.validRows()])).toEqual([[1], [0, 1]]);
    expect(turned.foldBatchDim(2).unfoldBatchDim().unpad().equals(turned.unpad())).toBe(true);
    expect(DataProto.fromArrow(turned.toArrow()).unpad().equals(turned.unpad())).toBe(true);
  });
});

describe("folding", () => {
  it("folds rows to groups and back", () => {
    const folded = batchOf(0, 1, 2, 3).foldBatchDim(2);
    expect(folded.tensor("ids").shape).toEqual([2, 2]);
    expect(folded.column("name")).toEqual([
      ["row 0", "row 1"],
      ["row 2", "row 3"],
    ]);
    expect(folded.unfoldBatchDim().equals(batchOf(0, 1, 2, 3))).toBe(true);
    expect(errorOf(() => batchOf(0, 1, 2).foldBatchDim(2)).code).toBe("VERL_BATCH_SPLIT");
    expect(errorOf(() => batchOf(0).unfoldBatchDim()).code).toBe("VERL_BATCH_SHAPE");
  });

  it("cuts columns into rows and repeats the rest", () => {
    const data = DataProto.fromSingleDict({
      m: new NdArray("int32", [2, 4], Int32Array.of(0, 1, 2, 3, 4, 5, 6, 7)),
      ids: int32(8, 9),
      c: ["a", "b"],
    });
    const cut = data.unfoldColumnChunks(2, ["m"]);
    expect(cut.tensor("m").shape).toEqual([4, 2]);
    expect([...cut.tensor("m").row(1).data]).toEqual([2, 3]);
    expect(ids(cut)).toEqual([8, 8, 9, 9]);
    expect(cut.column("c")).toEqual(["a", "a", "b", "b"]);
    expect(errorOf(() => data.unfoldColumnChunks(3, ["m"])).code).toBe("VERL_BATCH_SPLIT");
    expect(errorOf(() => data.unfoldColumnChunks(2, ["x"])).code).toBe("VERL_BATCH_FIELD_MISSING");
  });
});

describe("printing a batch", () => {
  it("shows sizes, types and names", () => {
    const batch = new DataProto({
      batch: { prompts: NdArray.zeros("int32", [2, 8]) },
      nonTensorBatch: { uid: ["a", "b"] },
      metaInfo: { global_steps: 3 },
    });
    const shown = "DataProto(2 rows; prompts int32[2, 8]; columns uid; metaInfo global_steps)";
    expect([String(batch), inspect(batch)]).toEqual([shown, shown]);
    expect(String(new DataProto())).toBe("DataProto(0 rows)");
  });
});
