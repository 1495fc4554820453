import * as tf from "@tensorflow/tfjs";
import type { Kernel, KernelTable, One } from "../kernel.ts";
import { defineOp, nodeOp, type Op } from "../op.ts";
import { ONNX_TYPE } from "../onnx/graph.ts";
import type { DType, LazyValue } from "../value.ts";
import { cast } from "./cast.ts";

interface ReductionAttrs {
  axis?: number | number[];
  /** tf.max's name for it. */
  reductionIndices?: number | number[];
  keepDims: boolean;
}
type RecordedAttrs = { axes: readonly number[]; keep: boolean };

const reduction = (onnx: string): Op =>
  defineOp<RecordedAttrs>(onnx, (graph, [x], out, { attrs }) =>
    graph.node(onnx, [x!, graph.ints(attrs.axes)], out, { keepdims: attrs.keep ? 1 : 0 }),
  );

/** onnxruntime passes NaN over; here, as in tfjs, one NaN makes the largest and the smallest NaN. */
const extreme = (onnx: string): Op =>
  defineOp<RecordedAttrs>(onnx, (graph, [x], out, { attrs, value }) => {
    const axes = graph.ints(attrs.axes);
    const keepdims = attrs.keep ? 1 : 0;
    if (value.dtype !== "float32") return graph.node(onnx, [x!, axes], out, { keepdims });
    const hasNaN = graph.apply("ReduceMax", [graph.cast(graph.apply("IsNaN", [x!]), "float32"), axes], { keepdims });
    const found = graph.apply("Greater", [hasNaN, graph.scalar(0)]);
    graph.node("Where", [found, graph.scalar(NaN), graph.apply(onnx, [x!, axes], { keepdims })], out);
  });

/** ONNX reduces numbers only: all = smallest of 0 and 1, any = largest. */
const truthReduction = (onnx: string): Op =>
  defineOp<RecordedAttrs>(`Truth${onnx}`, (graph, [x], out, { attrs }) => {
    const reduced = graph.apply(onnx, [graph.cast(x!, "int32"), graph.ints(attrs.axes)], {
      keepdims: attrs.keep ? 1 : 0,
    });
    graph.node("Cast", [reduced], out, { to: ONNX_TYPE.bool });
  });

function reductionKernel(op: Op, dtypeOf: (dtype: DType) => DType = (dtype) => dtype): Kernel<One, ReductionAttrs> {
  return (recorder, { x }, { axis, reductionIndices, keepDims }) => {
    const source = cast(recorder, x, dtypeOf(x.dtype));
    const axes = tf.util.parseAxisParam((axis ?? reductionIndices)!, x.shape as number[]).sort((a, b) => a - b);
    if (axes.length === 0) return source;
    const keep = keepDims ?? false;
    return recorder.record(op, [source], { axes, keep }, reducedShape(x, axes, keep), source.dtype);
  };
}

function reducedShape(x: LazyValue, axes: readonly number[], keep: boolean): number[] {
  return keep ? x.shape.map((dim, i) => (axes.includes(i) ? 1 : dim)) : x.shape.filter((_, i) => !axes.includes(i));
}

const argOp = (onnx: "ArgMax" | "ArgMin"): Op =>
  defineOp<{ axis: number }>(onnx, (graph, inputs, out, { attrs }) => {
    graph.node("Cast", [graph.apply(onnx, inputs, { axis: attrs.axis, keepdims: 0 })], out, { to: ONNX_TYPE.int32 });
  });

function argKernel(op: Op): Kernel<One, tf.ArgMaxAttrs> {
  return (recorder, { x }, attrs) => {
    const axis = tf.util.parseAxisParam(attrs.axis, x.shape as number[])[0]!;
    const source = cast(recorder, x, x.dtype === "bool" ? "int32" : x.dtype);
    return recorder.record(op, [source], { axis }, reducedShape(x, [axis], false), "int32");
  };
}

const cumsum = defineOp<{ axis: number; exclusive: boolean; reverse: boolean }>(
  "CumSum",
  (graph, [x], out, { attrs }) =>
    graph.node("CumSum", [x!, graph.scalar(attrs.axis, "int32")], out, {
      exclusive: attrs.exclusive ? 1 : 0,
      reverse: attrs.reverse ? 1 : 0,
    }),
);

const countable = (dtype: DType): DType => (dtype === "bool" ? "int32" : dtype);
const float = (): DType => "float32";

export const reduceKernels: KernelTable = {
  Sum: reductionKernel(reduction("ReduceSum"), countable),
  Mean: reductionKernel(reduction("ReduceMean"), float),
  Prod: reductionKernel(reduction("ReduceProd"), countable),
  Max: reductionKernel(extreme("ReduceMax"), countable),
  Min: reductionKernel(extreme("ReduceMin"), countable),
  All: reductionKernel(truthReduction("ReduceMin")),
  Any: reductionKernel(truthReduction("ReduceMax")),
  ArgMax: argKernel(argOp("ArgMax")),
  ArgMin: argKernel(argOp("ArgMin")),
  Cumsum(recorder, { x }: One, attrs: tf.CumsumAttrs) {
    const axis = tf.util.parseAxisParam(attrs.axis, x.shape as number[])[0]!;
    const source = cast(recorder, x, countable(x.dtype));
    return recorder.record(
      cumsum,
      [source],
      { axis, exclusive: attrs.exclusive, reverse: attrs.reverse },
      x.shape,
      source.dtype,
    );
  },
};

const softmax = nodeOp("Softmax");
const logSoftmax = nodeOp("LogSoftmax");
interface Logits {
  readonly logits: LazyValue;
}

/** Both work along the last axis, in tfjs as in ONNX. */
export const softmaxKernels: KernelTable = {
  Softmax: (recorder, { logits }: Logits) => recorder.record(softmax, [logits], undefined, logits.shape, "float32"),
  LogSoftmax: (recorder, { logits }: Logits) =>
    recorder.record(logSoftmax, [logits], undefined, logits.shape, "float32"),
};
