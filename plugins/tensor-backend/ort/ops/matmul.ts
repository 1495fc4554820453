import type { _FusedMatMulAttrs, BatchMatMulAttrs, EinsumAttrs } from "@tensorflow/tfjs";
import type { KernelTable, Many, Two } from "../kernel.ts";
import { defineOp } from "../op.ts";
import type { Recorder } from "../recorder.ts";
import type { LazyValue } from "../value.ts";
import { add } from "./binary.ts";
import { broadcastShape } from "./broadcast.ts";
import { cast } from "./cast.ts";
import { activations } from "./unary.ts";

/** Transposed operands are read in place: by Gemm for matrices, by onnxruntime's own FusedMatMul for batches of them. */
const matMulOp = defineOp<{ transposeA: boolean; transposeB: boolean }>(
  "MatMul",
  (graph, inputs, out, { attrs, inputs: [a, b] }) => {
    const transposes = { transA: attrs.transposeA ? 1 : 0, transB: attrs.transposeB ? 1 : 0 };
    if (!attrs.transposeA && !attrs.transposeB) graph.node("MatMul", inputs, out);
    else if (a!.shape.length === 2 && b!.shape.length === 2) graph.node("Gemm", inputs, out, transposes);
    else graph.node("com.microsoft.FusedMatMul", inputs, out, transposes);
  },
);

function matMul(recorder: Recorder, a: LazyValue, b: LazyValue, transposeA: boolean, transposeB: boolean): LazyValue {
  const rows = a.shape.at(transposeA ? -1 : -2)!;
  const columns = b.shape.at(transposeB ? -2 : -1)!;
  const shape = [...broadcastShape(a.shape.slice(0, -2), b.shape.slice(0, -2)), rows, columns];
  const operands = [cast(recorder, a, "float32"), cast(recorder, b, "float32")];
  return recorder.record(matMulOp, operands, { transposeA, transposeB }, shape, "float32");
}

interface Fused extends Two {
  readonly bias?: LazyValue;
}

const einsum = defineOp<{ equation: string }>("Einsum", (graph, inputs, out, { attrs }) =>
  graph.node("Einsum", inputs, out, { ...attrs }),
);

export const matMulKernels: KernelTable = {
  BatchMatMul: (recorder, { a, b }: Two, { transposeA, transposeB }: BatchMatMulAttrs) =>
    matMul(recorder, a, b, transposeA, transposeB),

  _FusedMatMul(recorder, { a, b, bias }: Fused, { transposeA, transposeB, activation }: _FusedMatMulAttrs) {
    const activate = activations[activation];
    if (activate === undefined && (activation ?? "linear") !== "linear") return undefined;
    let product = matMul(recorder, a, b, transposeA, transposeB);
    if (bias) product = recorder.record(add, [product, bias], undefined, product.shape, "float32");
    return activate === undefined ? product : recorder.record(activate, [product], undefined, product.shape, "float32");
  },

  Einsum(recorder, inputs: Many, attrs: EinsumAttrs) {
    const operands = Object.values(inputs);
    const equation = attrs.equation.replace(/\s/g, "");
    const [terms, result] = equation.split("->") as [string, string];
    const dims = new Map<string, number>();
    terms.split(",").forEach((term, i) => [...term].forEach((letter, j) => dims.set(letter, operands[i]!.shape[j]!)));
    const shape = [...result].map((letter) => dims.get(letter)!);
    return recorder.record(einsum, operands, { equation }, shape, "float32");
  },
};
