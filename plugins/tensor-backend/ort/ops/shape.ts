import * as tf from "@tensorflow/tfjs";
import type { KernelTable, Many, One } from "../kernel.ts";
import { defineOp, nodeOp } from "../op.ts";
import type { Recorder } from "../recorder.ts";
import { type LazyValue, sameShape } from "../value.ts";

const reshapeOp = defineOp("Reshape", (graph, [x], out, { value }) =>
  graph.node("Reshape", [x!, graph.ints(value.shape)], out, { allowzero: 1 }),
);
const transposeOp = nodeOp<{ perm: readonly number[] }>("Transpose", ({ perm }) => ({ perm }));
const concatOp = nodeOp<{ axis: number }>("Concat", ({ axis }) => ({ axis }));
const padOp = defineOp<{ before: readonly number[]; after: readonly number[]; value: number }>(
  "Pad",
  (graph, [x], out, { attrs, value }) =>
    graph.node("Pad", [x!, graph.ints([...attrs.before, ...attrs.after]), graph.scalar(attrs.value, value.dtype)], out),
);

type SliceAttrs = { begin: readonly number[]; end: readonly number[]; strides: readonly number[] };
const sliceOp = defineOp<SliceAttrs>("Slice", (graph, [x], out, { attrs: { begin, end, strides } }) => {
  const axes = begin.map((_, axis) => axis);
  graph.node("Slice", [x!, graph.ints(begin), graph.ints(end), graph.ints(axes), graph.ints(strides)], out);
});
/** Before the first element, seen from a negative stride. ONNX reads −1 as the last element. */
const BEFORE_START = -(2 ** 31);

function reshape(recorder: Recorder, x: LazyValue, shape: readonly number[]): LazyValue {
  if (sameShape(x.shape, shape)) return x;
  // Values that are here already need no operation: two shapes share one array.
  if (x.values !== undefined) return recorder.share(x, [...shape]);
  return recorder.record(reshapeOp, [x], undefined, [...shape], x.dtype);
}

function slice(recorder: Recorder, x: LazyValue, begin: readonly number[], size: readonly number[]): LazyValue {
  if (sameShape(x.shape, size)) return x;
  const end = begin.map((start, i) => start + size[i]!);
  return recorder.record(sliceOp, [x], { begin: [...begin], end, strides: begin.map(() => 1) }, [...size], x.dtype);
}

function concat(recorder: Recorder, values: readonly LazyValue[], axis: number): LazyValue {
  const first = values[0]!;
  if (values.length === 1) return first;
  const length = values.reduce((sum, value) => sum + value.shape[axis]!, 0);
  return recorder.record(concatOp, values, { axis }, first.shape.with(axis, length), first.dtype);
}

/** The pieces of `x` along `axis`, of the given lengths. */
function split(recorder: Recorder, x: LazyValue, axis: number, lengths: readonly number[]): LazyValue[] {
  let start = 0;
  return lengths.map((length) => {
    const begin = x.shape.map((_, i) => (i === axis ? start : 0));
    start += length;
    return slice(recorder, x, begin, x.shape.with(axis, length));
  });
}

interface Value {
  readonly value: LazyValue;
}

export const shapeKernels: KernelTable = {
  Reshape: (recorder, { x }: One, { shape }: tf.ReshapeAttrs) =>
    reshape(recorder, x, tf.util.inferFromImplicitShape(shape, x.size)),

  ExpandDims(recorder, { input }: { input: LazyValue }, { dim }: tf.ExpandDimsAttrs) {
    return reshape(recorder, input, input.shape.toSpliced(dim < 0 ? dim + input.shape.length + 1 : dim, 0, 1));
  },

  Transpose(recorder, { x }: One, { perm }: tf.TransposeAttrs) {
    if (perm.every((axis, i) => axis === i)) return x;
    return recorder.record(
      transposeOp,
      [x],
      { perm: [...perm] },
      perm.map((axis) => x.shape[axis]!),
      x.dtype,
    );
  },

  Slice(recorder, { x }: One, attrs: tf.SliceAttrs) {
    const [begin, size] = tf.slice_util.parseSliceParams(asTensor(x), attrs.begin, attrs.size) as [number[], number[]];
    tf.slice_util.assertParamsValid(asTensor(x), begin, size);
    return slice(recorder, x, begin, size);
  },

  StridedSlice(recorder, { x }: One, attrs: tf.StridedSliceAttrs) {
    const { begin, end, strides, beginMask, endMask, ellipsisMask, newAxisMask, shrinkAxisMask } = attrs;
    const info = tf.slice_util.sliceInfo(
      x.shape as number[], begin, end, strides, beginMask, endMask, ellipsisMask, newAxisMask, shrinkAxisMask,
    ); // prettier-ignore
    if (info.isIdentity) return reshape(recorder, x, info.finalShape);
    const ends = info.end.map((stop, i) => (stop < 0 && info.strides[i]! < 0 ? BEFORE_START : stop));
    const shape = info.begin.map((start, i) => Math.ceil((info.end[i]! - start) / info.strides[i]!));
    const recorded: SliceAttrs = { begin: [...info.begin], end: ends, strides: [...info.strides] };
    return reshape(recorder, recorder.record(sliceOp, [x], recorded, shape, x.dtype), info.finalShape);
  },

  Reverse(recorder, { x }: One, { dims }: tf.ReverseAttrs) {
    const axes = tf.util.parseAxisParam(dims, x.shape as number[]);
    const begin = x.shape.map((dim, i) => (axes.includes(i) ? dim - 1 : 0));
    const end = x.shape.map((dim, i) => (axes.includes(i) ? BEFORE_START : dim));
    return recorder.record(
      sliceOp,
      [x],
      { begin, end, strides: x.shape.map((_, i) => (axes.includes(i) ? -1 : 1)) },
      x.shape,
      x.dtype,
    );
  },

  PadV2(recorder, { x }: One, { paddings, constantValue }: tf.PadV2Attrs) {
    if (x.dtype === "bool") return undefined;
    const before = paddings.map(([count]) => count);
    const after = paddings.map(([, count]) => count);
    const shape = x.shape.map((dim, i) => dim + before[i]! + after[i]!);
    return sameShape(shape, x.shape)
      ? x
      : recorder.record(padOp, [x], { before, after, value: constantValue }, shape, x.dtype);
  },

  Concat(recorder, inputs: Many, attrs: tf.ConcatAttrs) {
    const values = Object.values(inputs);
    const axis = tf.util.parseAxisParam(attrs.axis, values[0]!.shape as number[])[0]!;
    const filled = values.filter((value) => value.size > 0);
    return concat(recorder, filled.length > 0 ? filled : values.slice(0, 1), axis);
  },

  Pack(recorder, inputs: Many, attrs: tf.PackAttrs) {
    const values = Object.values(inputs);
    const { shape } = values[0]!;
    const axis = attrs.axis < 0 ? attrs.axis + shape.length + 1 : attrs.axis;
    const expanded = shape.toSpliced(axis, 0, 1);
    return concat(
      recorder,
      values.map((value) => reshape(recorder, value, expanded)),
      axis,
    );
  },

  Unpack(recorder, { value }: Value, attrs: tf.UnpackAttrs) {
    const axis = attrs.axis < 0 ? attrs.axis + value.shape.length : attrs.axis;
    const shape = value.shape.toSpliced(axis, 1);
    const ones = Array.from({ length: value.shape[axis]! }, () => 1);
    return split(recorder, value, axis, ones).map((piece) => reshape(recorder, piece, shape));
  },

  SplitV(recorder, { x }: One, { axis, numOrSizeSplits }: tf.SplitVAttrs) {
    const along = tf.util.parseAxisParam(axis, x.shape as number[])[0]!;
    return split(recorder, x, along, tf.backend_util.prepareSplitSize(asTensor(x), numOrSizeSplits, along));
  },
};

/** tfjs' helpers want a tensor, and read its shape and rank only. */
const asTensor = ({ shape }: LazyValue): tf.Tensor => ({ shape, rank: shape.length }) as tf.Tensor;
