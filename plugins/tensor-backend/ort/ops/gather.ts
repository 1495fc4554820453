import * as tf from "@tensorflow/tfjs";
import type { KernelTable, One } from "../kernel.ts";
import { defineOp, nodeOp } from "../op.ts";
import type { GraphBuilder } from "../onnx/graph.ts";
import { type LazyValue, sizeOf } from "../value.ts";

const gather = nodeOp<{ axis: number }>("Gather", ({ axis }) => ({ axis }));

/** Picks one element a row along the last axis. */
const pick = defineOp("Pick", (graph, [x, indices], out) =>
  graph.node("GatherElements", [x!, graph.cast(indices!, "int64")], out, { axis: -1 }),
);

/** Batches × length rows in one list, so that row i of batch b is number b · length + i. */
const gatherInBatches = defineOp<{ batches: number; length: number }>(
  "GatherInBatches",
  (graph, [x, indices], out, { attrs, inputs, value }) => {
    const { batches, length } = attrs;
    const [source, picked] = inputs as [LazyValue, LazyValue];
    const rows = graph.apply("Reshape", [x!, graph.ints([batches * length, source.size / (batches * length)])]);
    const starts = graph.constant(
      Int32Array.from({ length: batches }, (_, b) => b * length),
      "int32",
      [batches, 1],
    );
    const flat = graph.apply("Add", [
      graph.apply("Reshape", [indices!, graph.ints([batches, picked.size / batches])]),
      starts,
    ]);
    graph.node("Reshape", [graph.apply("Gather", [rows, flat], { axis: 0 }), graph.ints(value.shape)], out);
  },
);

const gatherNd = defineOp("GatherND", (graph, [x, indices], out) =>
  graph.node("GatherND", [x!, graph.cast(indices!, "int64")], out),
);

type Numeric = "float32" | "int32";

/** Up to this many rows a matrix product with one-hot rows beats adding one element after the other (both measured). */
const FEW_ROWS = 256;

/**
 * Sums `updates` (items × width) into `rows` zero rows at `ids` (items). Both ways are exact for integers below 2²⁴ and add
 * in the same order each time; ScatterND's addition would race on repeated ids.
 */
function sumIntoRows(
  graph: GraphBuilder,
  ids: string,
  updates: string,
  rows: number,
  [items, width]: readonly [items: number, width: number],
  dtype: Numeric,
): string {
  const column = graph.apply("Reshape", [ids, graph.ints([items, 1])]);
  if (dtype === "float32" && rows <= FEW_ROWS) {
    const numbers = graph.constant(
      Int32Array.from({ length: rows }, (_, row) => row),
      "int32",
      [rows],
    );
    const oneHot = graph.cast(graph.apply("Equal", [column, numbers]), "float32");
    return graph.apply("Gemm", [oneHot, updates], { transA: 1 });
  }
  const zeros = graph.apply("Expand", [graph.scalar(0, dtype), graph.ints([rows, width])]);
  const indices = graph.apply("Expand", [graph.cast(column, "int64"), graph.ints([items, width])]);
  return graph.apply("ScatterElements", [zeros, indices, updates], { axis: 0, reduction: "add" });
}

const segmentSum = defineOp<{ segments: number }>("SegmentSum", (graph, [x, ids], out, { attrs, inputs, value }) => {
  const [source, segmentIds] = inputs as [LazyValue, LazyValue];
  const shape = [segmentIds.size, source.size / segmentIds.size] as const;
  const flat = graph.apply("Reshape", [x!, graph.ints(shape)]);
  const sums = sumIntoRows(graph, ids!, flat, attrs.segments, shape, value.dtype as Numeric);
  graph.node("Reshape", [sums, graph.ints(value.shape)], out);
});

const scatterNd = defineOp("ScatterNd", (graph, [indices, updates], out, { inputs, value }) => {
  const [places, added] = inputs as [LazyValue, LazyValue];
  const depth = places.shape.at(-1)!;
  const items = places.size / depth;
  const strides = Int32Array.from({ length: depth }, (_, axis) => sizeOf(value.shape.slice(axis + 1, depth)));
  const weighted = graph.apply("Mul", [
    graph.apply("Reshape", [indices!, graph.ints([items, depth])]),
    graph.constant(strides, "int32", [depth]),
  ]);
  const rowIds = graph.apply("ReduceSum", [weighted, graph.ints([1])], { keepdims: 0 });
  const shape = [items, added.size / items] as const;
  const flat = graph.apply("Reshape", [updates!, graph.ints(shape)]);
  const sums = sumIntoRows(graph, rowIds, flat, sizeOf(value.shape.slice(0, depth)), shape, value.dtype as Numeric);
  graph.node("Reshape", [sums, graph.ints(value.shape)], out);
});

interface Gathered extends One {
  readonly indices: LazyValue;
}

export const gatherKernels: KernelTable = {
  GatherV2(recorder, { x, indices }: Gathered, attrs: tf.GatherV2Attrs) {
    const axis = tf.util.parseAxisParam(attrs.axis ?? 0, x.shape as number[])[0]!;
    const batchDims = attrs.batchDims ?? 0;
    const shape = [...x.shape.slice(0, axis), ...indices.shape.slice(batchDims), ...x.shape.slice(axis + 1)];
    if (batchDims === 0) return recorder.record(gather, [x, indices], { axis }, shape, x.dtype);
    if (batchDims !== axis) return undefined;
    if (axis === x.shape.length - 1 && indices.shape.length === x.shape.length)
      return recorder.record(pick, [x, indices], undefined, shape, x.dtype);
    const batches = sizeOf(x.shape.slice(0, axis));
    return recorder.record(gatherInBatches, [x, indices], { batches, length: x.shape[axis]! }, shape, x.dtype);
  },

  GatherNd(recorder, { params, indices }: { params: LazyValue; indices: LazyValue }) {
    const depth = indices.shape.at(-1)!;
    return recorder.record(
      gatherNd,
      [params, indices],
      undefined,
      [...indices.shape.slice(0, -1), ...params.shape.slice(depth)],
      params.dtype,
    );
  },

  UnsortedSegmentSum(
    recorder,
    { x, segmentIds }: { x: LazyValue; segmentIds: LazyValue },
    { numSegments }: tf.UnsortedSegmentSumAttrs,
  ) {
    if (x.dtype === "bool") return undefined;
    const shape = [numSegments, ...x.shape.slice(segmentIds.shape.length)];
    return recorder.record(segmentSum, [x, segmentIds], { segments: numSegments }, shape, x.dtype);
  },

  ScatterNd(recorder, { indices, updates }: { indices: LazyValue; updates: LazyValue }, { shape }: tf.ScatterNdAttrs) {
    if (updates.dtype === "bool") return undefined;
    return recorder.record(scatterNd, [indices, updates], undefined, [...shape], updates.dtype);
  },
};
