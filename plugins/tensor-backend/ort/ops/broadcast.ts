import * as tf from "@tensorflow/tfjs";
import type { KernelTable, One } from "../kernel.ts";
import { defineOp } from "../op.ts";
import type { Recorder } from "../recorder.ts";
import { type DType, isDType, type LazyValue, sameShape } from "../value.ts";

export const broadcastOp = defineOp("Broadcast", (graph, [x], out, { value }) =>
  graph.node("Expand", [x!, graph.ints(value.shape)], out),
);

const tileOp = defineOp<{ reps: readonly number[] }>("Tile", (graph, [x], out, { attrs }) =>
  graph.node("Tile", [x!, graph.ints(attrs.reps)], out),
);

/** `x` in a larger shape; nothing is recorded when it has that shape already. */
function broadcast(recorder: Recorder, x: LazyValue, shape: readonly number[]): LazyValue {
  return sameShape(x.shape, shape) ? x : recorder.record(broadcastOp, [x], undefined, [...shape], x.dtype);
}

export function broadcastShape(a: readonly number[], b: readonly number[]): readonly number[] {
  return sameShape(a, b) ? a : tf.broadcast_util.assertAndGetBroadcastShape(a as number[], b as number[]);
}

/** A shape filled with one value. The value is a leaf, so that another one needs no other graph. */
function fill(recorder: Recorder, value: number, shape: readonly number[], dtype: DType): LazyValue {
  return broadcast(recorder, recorder.scalar(value, dtype), shape);
}

export const broadcastKernels: KernelTable = {
  BroadcastTo: (recorder, { x }: One, { shape }: tf.BroadCastToAttrs) => broadcast(recorder, x, shape),

  /** tfjs broadcasts by this kernel too: a repeated dimension of one element is a broadcast, which readers can leave out. */
  Tile(recorder, { x }: One, { reps }: tf.TileAttrs) {
    const shape = x.shape.map((dim, i) => dim * reps[i]!);
    if (reps.every((times, i) => times === 1 || x.shape[i] === 1)) return broadcast(recorder, x, shape);
    return recorder.record(tileOp, [x], { reps: [...reps] }, shape, x.dtype);
  },

  Fill(recorder, _: object, { shape, value, dtype }: tf.FillAttrs) {
    const type = dtype ?? "float32";
    return isDType(type) && typeof value === "number" ? fill(recorder, value, shape, type) : undefined;
  },
  ZerosLike: (recorder, { x }: One) => fill(recorder, 0, x.shape, x.dtype),
  OnesLike: (recorder, { x }: One) => fill(recorder, 1, x.shape, x.dtype),
};
