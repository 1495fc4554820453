import type { CastAttrs } from "@tensorflow/tfjs";
import type { KernelTable, One } from "../kernel.ts";
import { defineOp } from "../op.ts";
import { ONNX_TYPE } from "../onnx/graph.ts";
import type { Recorder } from "../recorder.ts";
import { type DType, isDType, type LazyValue } from "../value.ts";

const castOp = defineOp("Cast", (graph, inputs, out, { value }) =>
  graph.node("Cast", inputs, out, { to: ONNX_TYPE[value.dtype] }),
);

export function cast(recorder: Recorder, x: LazyValue, dtype: DType): LazyValue {
  if (x.dtype === dtype) return x;
  // A guessed constant stays one, so that it is guessed as a whole.
  if (x.constant) return recorder.write(castValues(x.values!, dtype), x.shape, dtype);
  return recorder.record(castOp, [x], undefined, x.shape, dtype);
}

const castValues = (values: ArrayLike<number>, dtype: DType): ArrayLike<number> =>
  dtype === "bool" ? Array.from(values, (value) => (value === 0 ? 0 : 1)) : values;

export const castKernels: KernelTable = {
  Cast: (recorder, { x }: One, { dtype }: CastAttrs) => (isDType(dtype) ? cast(recorder, x, dtype) : undefined),
  Identity: (_, { x }: One) => x,
};
