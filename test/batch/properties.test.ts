import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { DataProto, inverseOrder, NdArray } from "../../core/batch/index.ts";
import { createRng } from "../../core/tensor/rng.ts";
import { dataProto } from "./arbitraries.ts";

const holds = <T extends unknown[]>(
  ...args: [...{ [K in keyof T]: fc.Arbitrary<T[K]> }, (...values: T) => boolean]
): void => {
  const test = args.pop() as (...values: T) => boolean;
  fc.assert(fc.property(...(args as unknown as [fc.Arbitrary<unknown>]), test as never), { numRuns: 200 });
};
const count = fc.integer({ min: 1, max: 9 });

describe("laws", () => {
  it("concat undoes chunk and split", () => {
    holds(dataProto, count, (data, n) => {
      const plain = data.select({ metaInfoKeys: [] });
      return (
        DataProto.concat(plain.chunk(n)).equals(plain) &&
        (data.length === 0 || DataProto.concat(plain.split(n)).equals(plain))
      );
    });
  });

  it("unpad undoes padToDivisor, and the padded length divides", () => {
    holds(dataProto, count, (data, n) => {
      const padded = data.padToDivisor(n);
      return padded.length % n === 0 && padded.unpad().equals(data) && padded.validRows().length === data.length;
    });
  });

  it("the inverse order undoes reorder", () => {
    holds(dataProto, fc.integer(), (data, seed) => {
      const order = createRng(seed >>> 0).shuffle(Int32Array.from({ length: data.length }, (_, i) => i));
      return data.reorder(order).reorder(inverseOrder(order)).equals(data);
    });
  });

  it("union with itself, or with a part, is the batch itself, and union of two halves is the whole", () => {
    holds(dataProto, (data) => {
      const tensors = data.select({ nonTensorBatchKeys: [] });
      const columns = data.select({ batchKeys: [] });
      return data.union(data).equals(data) && data.union(tensors).equals(data) && tensors.union(columns).equals(data);
    });
  });

  it("Arrow bytes give back an equal batch", () => {
    holds(dataProto, (data) => DataProto.fromArrow(data.toArrow()).equals(data));
  });

  it("repeat holds each row n times, and folding by n undoes", () => {
    holds(dataProto, count, (data, n) => {
      const repeated = data.repeat(n);
      return repeated.length === data.length * n && repeated.slice(0, repeated.length, n).equals(data);
    });
  });

  it("popping and uniting again is the batch", () => {
    holds(dataProto, (data) => {
      const rest = data.slice();
      const taken = rest.pop({
        batchKeys: data.batch.keys().slice(0, 1),
        nonTensorBatchKeys: [...data.nonTensorBatch.keys()].slice(1),
      });
      return rest.union(taken).equals(data);
    });
  });

  it("a batch equals itself and not one that differs in an element", () => {
    holds(
      dataProto,
      (data) =>
        data.equals(data.slice()) &&
        !data.equals(data.union(new DataProto({ metaInfo: { "": NaN, other: 1 } }), "replace")),
    );
  });
});

describe("empty batches", () => {
  const empty = (): DataProto =>
    DataProto.fromSingleDict({ ids: new Int32Array(0), m: NdArray.zeros("float32", [0, 4]), c: [] }, { a: 1 });
  const same: [string, (data: DataProto) => DataProto][] = [
    ["select", (data) => data.select({})],
    ["union", (data) => data.union(empty())],
    ["concat", (data) => DataProto.concat([data, empty()])],
    ["chunk", (data) => DataProto.concat(data.chunk(3))],
    ["slice", (data) => data.slice(0, 5)],
    ["strided slice", (data) => data.slice(0, 5, 2)],
    ["index", (data) => data.index([])],
    ["reorder", (data) => data.reorder([])],
    ["repeat", (data) => data.repeat(3)],
    ["sampleLevelRepeat", (data) => data.sampleLevelRepeat([])],
    ["rename", (data) => data.rename({ ids: "x" }).rename({ x: "ids" })],
    ["padToDivisor and unpad", (data) => data.padToDivisor(4).unpad()],
    ["fold and unfold", (data) => data.foldBatchDim(0).unfoldBatchDim()],
    ["fold to rows", (data) => data.foldBatchDim(0).unfoldBatchDim(2)],
    ["unfoldColumnChunks", (data) => data.unfoldColumnChunks(1, ["m"])],
    ["Arrow", (data) => DataProto.fromArrow(data.toArrow())],
  ];

  it.each(same)("come through %s", (_, act) => {
    expect(act(empty()).equals(empty())).toBe(true);
  });

  it("split to no part and give no mini-batch", () => {
    expect(empty().split(2)).toEqual([]);
    expect([...empty().makeIterator(2, { epochs: 2, shuffle: createRng(0) })]).toEqual([]);
    expect(empty().unfoldColumnChunks(2, ["m"]).tensor("m").shape).toEqual([0, 2]);
  });

  it("come through Arrow without any field", () => {
    const nothing = new DataProto({ metaInfo: { why: "none" } });
    expect(DataProto.fromArrow(nothing.toArrow()).equals(nothing)).toBe(true);
  });
});
