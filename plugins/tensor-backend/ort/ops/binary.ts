import type { Kernel, KernelTable, Many, Two } from "../kernel.ts";
import { defineOp, type Lowering, nodeOp, type Op } from "../op.ts";
import type { LazyValue } from "../value.ts";
import { broadcastShape } from "./broadcast.ts";
import { cast } from "./cast.ts";

const ELEMENTWISE = { broadcasts: true };
const elementwise = (onnx: string): Op => nodeOp(onnx, undefined, ELEMENTWISE);
const elementwiseOp = (name: string, lower: Lowering): Op => defineOp(name, lower, ELEMENTWISE);

const notEqual = elementwiseOp("NotEqual", (graph, inputs, out) =>
  graph.node("Not", [graph.apply("Equal", inputs)], out),
);

const squaredDifference = elementwiseOp("SquaredDifference", (graph, inputs, out) => {
  const difference = graph.apply("Sub", inputs);
  graph.node("Mul", [difference, difference], out);
});

/** Integer division by zero is 0 in tfjs and a crash in C++: the divisor 0 becomes 1, the result 0. */
const integerFloorDiv = elementwiseOp("IntegerFloorDiv", (graph, [a, b], out) => {
  const zero = graph.scalar(0, "int32");
  const isZero = graph.apply("Equal", [b!, zero]);
  const divisor = graph.apply("Where", [isZero, graph.scalar(1, "int32"), b!]);
  const remainder = graph.apply("Mod", [a!, divisor]);
  const quotient = graph.apply("Div", [graph.apply("Sub", [a!, remainder]), divisor]);
  graph.node("Where", [isZero, zero, quotient], out);
});

const floatFloorDiv = elementwiseOp("FloatFloorDiv", (graph, inputs, out) =>
  graph.node("Cast", [graph.apply("Floor", [graph.apply("Div", inputs)])], out, { to: 6 }),
);

/** The remainder has the divisor's sign, as ONNX' integer Mod has it. */
const integerMod = elementwiseOp("IntegerMod", (graph, [a, b], out) => {
  const zero = graph.scalar(0, "int32");
  const isZero = graph.apply("Equal", [b!, zero]);
  const divisor = graph.apply("Where", [isZero, graph.scalar(1, "int32"), b!]);
  graph.node("Where", [isZero, zero, graph.apply("Mod", [a!, divisor])], out);
});

/** The exact remainder of C's fmod has the dividend's sign; where the signs differ, adding the divisor once mends that. */
const floatMod = elementwiseOp("FloatMod", (graph, [a, b], out) => {
  const zero = graph.scalar(0);
  const remainder = graph.apply("Mod", [a!, b!], { fmod: 1 });
  const mended = graph.apply("Mod", [graph.apply("Add", [remainder, b!]), b!], { fmod: 1 });
  const signsDiffer = graph.apply("Xor", [graph.apply("Less", [a!, zero]), graph.apply("Less", [b!, zero])]);
  graph.node("Where", [signsDiffer, mended, remainder], out);
});

function arithmetic(op: Op): Kernel<Two> {
  return (recorder, { a, b }) =>
    a.dtype === "bool" ? undefined : recorder.record(op, [a, b], undefined, broadcastShape(a.shape, b.shape), a.dtype);
}

/** ONNX orders numbers, not truth values. */
function comparison(op: Op): Kernel<Two> {
  return (recorder, { a, b }) => {
    const operands = a.dtype === "bool" ? [cast(recorder, a, "int32"), cast(recorder, b, "int32")] : [a, b];
    return recorder.record(op, operands, undefined, broadcastShape(a.shape, b.shape), "bool");
  };
}

function logical(op: Op): Kernel<Two> {
  return (recorder, { a, b }) => {
    const operands = [cast(recorder, a, "bool"), cast(recorder, b, "bool")];
    return recorder.record(op, operands, undefined, broadcastShape(a.shape, b.shape), "bool");
  };
}

export const add = elementwise("Add");
const sum = nodeOp("Sum");
const prelu = nodeOp("PRelu");

export const binaryKernels: KernelTable = {
  Add: arithmetic(add),
  Sub: arithmetic(elementwise("Sub")),
  Multiply: arithmetic(elementwise("Mul")),
  RealDiv: arithmetic(elementwise("Div")),
  Pow: arithmetic(elementwise("Pow")),
  Maximum: arithmetic(elementwise("Max")),
  Minimum: arithmetic(elementwise("Min")),
  SquaredDifference: arithmetic(squaredDifference),
  Greater: comparison(elementwise("Greater")),
  GreaterEqual: comparison(elementwise("GreaterOrEqual")),
  Less: comparison(elementwise("Less")),
  LessEqual: comparison(elementwise("LessOrEqual")),
  Equal: comparison(elementwise("Equal")),
  NotEqual: comparison(notEqual),
  LogicalAnd: logical(elementwise("And")),
  LogicalOr: logical(elementwise("Or")),

  FloorDiv(recorder, { a, b }: Two) {
    if (a.dtype === "bool") return undefined;
    const op = a.dtype === "int32" ? integerFloorDiv : floatFloorDiv;
    return recorder.record(op, [a, b], undefined, broadcastShape(a.shape, b.shape), "int32");
  },
  Mod(recorder, { a, b }: Two) {
    if (a.dtype === "bool") return undefined;
    const op = a.dtype === "int32" ? integerMod : floatMod;
    return recorder.record(op, [a, b], undefined, broadcastShape(a.shape, b.shape), a.dtype);
  },
  Prelu: (recorder, { x, alpha }: { x: LazyValue; alpha: LazyValue }) =>
    recorder.record(prelu, [x, alpha], undefined, x.shape, x.dtype),

  AddN(recorder, inputs: Many) {
    const terms = Object.values(inputs);
    const first = terms[0]!;
    if (first.dtype === "float32") return recorder.record(sum, terms, undefined, first.shape, first.dtype);
    if (first.dtype === "bool") return undefined;
    return terms.reduce((total, term) => recorder.record(add, [total, term], undefined, first.shape, first.dtype));
  },
};
