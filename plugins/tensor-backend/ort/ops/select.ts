import type * as tf from "@tensorflow/tfjs";
import type { KernelTable, One } from "../kernel.ts";
import { defineOp, nodeOp } from "../op.ts";
import { ONNX_TYPE } from "../onnx/graph.ts";
import { isDType, type LazyValue } from "../value.ts";

const where = nodeOp("Where", undefined, { broadcasts: true });

const oneHot = defineOp<{ depth: number; on: number; off: number }>(
  "OneHot",
  (graph, [indices], out, { attrs, inputs, value }) => {
    const { depth, on, off } = attrs;
    const classes = graph.constant(
      Int32Array.from({ length: depth }, (_, i) => i),
      "int32",
      [depth],
    );
    const expanded = graph.apply("Unsqueeze", [indices!, graph.ints([inputs[0]!.shape.length])]);
    const hit = graph.apply("Equal", [expanded, classes]);
    if (on === 1 && off === 0) graph.node("Cast", [hit], out, { to: ONNX_TYPE[value.dtype] });
    else graph.node("Where", [hit, graph.scalar(on, value.dtype), graph.scalar(off, value.dtype)], out);
  },
);

/** One ONNX node gives both outputs; onnxruntime merges the two that are recorded when both are asked for. */
const topValues = defineOp<{ k: number; sorted: boolean }>("TopValues", (graph, [x], out, { attrs }) =>
  graph.node("TopK", [x!, graph.ints([attrs.k])], [out, graph.temporary()], { axis: -1, sorted: attrs.sorted ? 1 : 0 }),
);
const topIndices = defineOp<{ k: number; sorted: boolean }>("TopIndices", (graph, [x], out, { attrs }) => {
  const indices = graph.temporary();
  graph.node("TopK", [x!, graph.ints([attrs.k])], [graph.temporary(), indices], {
    axis: -1,
    sorted: attrs.sorted ? 1 : 0,
  });
  graph.node("Cast", [indices], out, { to: ONNX_TYPE.int32 });
});

interface Choice {
  readonly condition: LazyValue;
  readonly t: LazyValue;
  readonly e: LazyValue;
}

export const selectKernels: KernelTable = {
  Select: (recorder, { condition, t, e }: Choice) =>
    recorder.record(where, [condition, t, e], undefined, t.shape, t.dtype),

  OneHot(recorder, { indices }: { indices: LazyValue }, { depth, onValue, offValue, dtype }: tf.OneHotAttrs) {
    if (!isDType(dtype)) return undefined;
    return recorder.record(oneHot, [indices], { depth, on: onValue, off: offValue }, [...indices.shape, depth], dtype);
  },

  TopK(recorder, { x }: One, { k, sorted }: tf.TopKAttrs) {
    const shape = x.shape.with(-1, k);
    return [
      recorder.record(topValues, [x], { k, sorted }, shape, x.dtype),
      recorder.record(topIndices, [x], { k, sorted }, shape, "int32"),
    ];
  },
};
