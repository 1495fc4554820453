import { CACHE_ROW_WRITE } from "verl";
import type { KernelTable } from "../kernel.ts";
import { defineOp } from "../op.ts";
import { type LazyValue, sizeOf } from "../value.ts";

/**
 * Whole rows of the [outer × length, inner] view are replaced, so onnxruntime copies blocks; when the old cache has no
 * other reader inside the graph, it writes them into it.
 */
const cacheRowWrite = defineOp<{ axis: number }>(
  "CacheRowWrite",
  (graph, [cache, rows, position], out, { attrs: { axis }, inputs, value }) => {
    const outer = sizeOf(value.shape.slice(0, axis));
    const length = value.shape[axis]!;
    const inner = sizeOf(value.shape.slice(axis + 1));
    const count = inputs[1]!.shape[axis]!;
    const starts = Int32Array.from({ length: outer * count }, (_, i) => Math.floor(i / count) * length + (i % count));
    const places = graph.apply("Add", [graph.constant(starts, "int32", [outer * count, 1]), position!]);
    const written = graph.apply("ScatterND", [
      graph.apply("Reshape", [cache!, graph.ints([outer * length, inner])]),
      graph.cast(places, "int64"),
      graph.apply("Reshape", [rows!, graph.ints([outer * count, inner])]),
    ]);
    graph.node("Reshape", [written, graph.ints(value.shape)], out);
  },
);

interface Write {
  readonly cache: LazyValue;
  readonly rows: LazyValue;
  readonly position: LazyValue;
}

/** The project's own kernel; see `cacheRowWrite` of "verl". */
export const cacheKernels: KernelTable = {
  [CACHE_ROW_WRITE]: (recorder, { cache, rows, position }: Write, { axis }: { axis: number }) =>
    recorder.record(cacheRowWrite, [cache, rows, position], { axis }, cache.shape, cache.dtype),
};
