import type { ClipByValueAttrs, LeakyReluAttrs, StepAttrs } from "@tensorflow/tfjs";
import type { Kernel, KernelTable, One } from "../kernel.ts";
import { defineOp, nodeOp, type Op } from "../op.ts";
import type { GraphBuilder } from "../onnx/graph.ts";
import type { LazyValue } from "../value.ts";
import { cast } from "./cast.ts";

/** Kernels that are one ONNX node on float32. */
// prettier-ignore
const FLOAT_NODES = [
  "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Ceil", "Cos", "Cosh", "Elu", "Erf", "Floor",
  "Log", "Reciprocal", "Round", "Selu", "Sigmoid", "Sin", "Sinh", "Softplus", "Sqrt", "Tan", "Tanh",
] as const;

/** Kernels that are one ONNX node on float32 and int32 alike. */
const NUMERIC_NODES = ["Abs", "Neg", "Sign"] as const;

const select = (graph: GraphBuilder, condition: string, yes: string, no: string, out: string) =>
  graph.node("Where", [condition, yes, no], out);

const rsqrt = defineOp("Rsqrt", (graph, [x], out) => graph.node("Reciprocal", [graph.apply("Sqrt", [x!])], out));
const square = defineOp("Square", (graph, [x], out) => graph.node("Mul", [x!, x!], out));
const relu = defineOp("Relu", (graph, [x], out, { value }) =>
  graph.node("Max", [x!, graph.scalar(0, value.dtype)], out),
);
const relu6 = defineOp("Relu6", (graph, [x], out) => graph.node("Clip", [x!, graph.scalar(0), graph.scalar(6)], out));
const leakyRelu = nodeOp<{ alpha: number }>("LeakyRelu", ({ alpha }) => ({ alpha: { float: alpha } }));
const isFinite = defineOp("IsFinite", (graph, [x], out) =>
  graph.node("Less", [graph.apply("Abs", [x!]), graph.scalar(Infinity)], out),
);
const clip = defineOp<{ low: number; high: number }>("Clip", (graph, [x], out, { attrs, value }) =>
  graph.node("Clip", [x!, graph.scalar(attrs.low, value.dtype), graph.scalar(attrs.high, value.dtype)], out),
);

/** 1 above zero, `alpha` elsewhere; NaN stays NaN. */
const step = defineOp<{ alpha: number }>("Step", (graph, [x], out, { attrs, value }) => {
  const positive = graph.apply("Greater", [x!, graph.scalar(0, value.dtype)]);
  const stepped = graph.apply("Where", [
    positive,
    graph.scalar(1, value.dtype),
    graph.scalar(attrs.alpha, value.dtype),
  ]);
  select(graph, graph.apply("Equal", [x!, x!]), stepped, x!, out);
});

/** Kahan's way: log(1 + x) · x / ((1 + x) − 1) keeps the digits that 1 + x rounds away. */
const log1p = defineOp("Log1p", (graph, [x], out) => {
  const one = graph.scalar(1);
  const shifted = graph.apply("Add", [x!, one]);
  const log = graph.apply("Log", [shifted]);
  const kept = graph.apply("Sub", [shifted, one]);
  const corrected = graph.apply("Div", [graph.apply("Mul", [log, x!]), kept]);
  const nothingKept = graph.apply("Equal", [kept, graph.scalar(0)]);
  const small = graph.apply("Less", [graph.apply("Abs", [x!]), graph.scalar(0.5)]);
  select(graph, nothingKept, x!, graph.apply("Where", [small, corrected, log]), out);
});

/** The same for exp(x) − 1: (e − 1) · x / log e. */
const expm1 = defineOp("Expm1", (graph, [x], out) => {
  const exp = graph.apply("Exp", [x!]);
  const plain = graph.apply("Sub", [exp, graph.scalar(1)]);
  const corrected = graph.apply("Div", [graph.apply("Mul", [plain, x!]), graph.apply("Log", [exp])]);
  const nothingKept = graph.apply("Equal", [plain, graph.scalar(0)]);
  const small = graph.apply("Less", [graph.apply("Abs", [x!]), graph.scalar(0.5)]);
  select(graph, nothingKept, x!, graph.apply("Where", [small, corrected, plain]), out);
});

/** tfjs asks for float32 before it calls these. */
function floatKernel(op: Op): Kernel<One> {
  return (recorder, { x }) =>
    x.dtype === "float32" ? recorder.record(op, [x], undefined, x.shape, "float32") : undefined;
}

function numericKernel(op: Op): Kernel<One> {
  return (recorder, { x }) => (x.dtype === "bool" ? undefined : recorder.record(op, [x], undefined, x.shape, x.dtype));
}

/** A question about floats; of the other dtypes the answer is known. */
function floatTest(op: Op): Kernel<One> {
  return (recorder, { x }) => recorder.record(op, [cast(recorder, x, "float32")], undefined, x.shape, "bool");
}

/** The slope of elu, told by its result: 1 above zero, result + 1 below. */
const eluGrad = defineOp("EluGrad", (graph, [dy, y], out) => {
  const below = graph.apply("Mul", [dy!, graph.apply("Add", [y!, graph.scalar(1)])]);
  select(graph, graph.apply("GreaterOrEqual", [y!, graph.scalar(0)]), dy!, below, out);
});

const exp = nodeOp("Exp");
const not = nodeOp("Not");
const floatNodes = Object.fromEntries(FLOAT_NODES.map((name) => [name, nodeOp(name)])) as Record<
  (typeof FLOAT_NODES)[number],
  Op
>;

/** What may follow a fused matrix product, by tfjs' name. */
export const activations: Readonly<Record<string, Op>> = {
  relu,
  relu6,
  elu: floatNodes.Elu,
  sigmoid: floatNodes.Sigmoid,
};

export const unaryKernels: KernelTable = {
  ...Object.fromEntries(FLOAT_NODES.map((name) => [name, floatKernel(floatNodes[name])])),
  ...Object.fromEntries(NUMERIC_NODES.map((name) => [name, numericKernel(nodeOp(name))])),
  Rsqrt: floatKernel(rsqrt),
  Relu6: floatKernel(relu6),
  Log1p: floatKernel(log1p),
  Expm1: floatKernel(expm1),
  Square: numericKernel(square),
  Relu: numericKernel(relu),
  Exp: (recorder, { x }: One) => recorder.record(exp, [cast(recorder, x, "float32")], undefined, x.shape, "float32"),
  EluGrad: (recorder, { dy, y }: { dy: LazyValue; y: LazyValue }) =>
    recorder.record(eluGrad, [dy, y], undefined, y.shape, y.dtype),
  LogicalNot: (recorder, { x }: One) => recorder.record(not, [x], undefined, x.shape, "bool"),
  IsNan: floatTest(nodeOp("IsNaN")),
  IsInf: floatTest(nodeOp("IsInf")),
  IsFinite: floatTest(isFinite),
  Step: (recorder, { x }: One, { alpha }: StepAttrs) =>
    x.dtype === "bool" ? undefined : recorder.record(step, [x], { alpha: alpha ?? 0 }, x.shape, x.dtype),
  LeakyRelu: (recorder, { x }: One, { alpha }: LeakyReluAttrs) =>
    recorder.record(leakyRelu, [cast(recorder, x, "float32")], { alpha }, x.shape, "float32"),
  ClipByValue: (recorder, { x }: One, { clipValueMin, clipValueMax }: ClipByValueAttrs) =>
    x.dtype === "bool"
      ? undefined
      : recorder.record(clip, [x], { low: clipValueMin, high: clipValueMax }, x.shape, x.dtype),
};
