import type * as tf from "@tensorflow/tfjs";
import type { LogProbAttrs } from "verl";
import { type Gpu, gridOf, type Slice } from "./dispatch.ts";
import { type LogitsLayout, logitsLayout } from "./logits-layout.ts";
import { COEFFICIENTS, coefficientSource, GRADIENT_ITEMS, rowGradientSource } from "./row-gradient.ts";
import { rowParts } from "./row-parts.ts";
import { rowStatisticsSource } from "./row-statistics.ts";

const WORKGROUP = 256;

type Inputs = Readonly<Record<string, tf.TensorInfo>>;

/** Log-prob, entropy, log-sum-exp, Σπ² and normaliser of each row. @param limit bytes of one binding; for tests. */
export function logProbEntropy(gpu: Gpu, inputs: Inputs, attrs: LogProbAttrs, limit?: number): tf.TensorInfo[] {
  const { logits, targets } = inputs as { logits: tf.TensorInfo; targets: tf.TensorInfo };
  const rows = logits.shape[0]!;
  const layout = logitsLayout(attrs.columns, attrs.half);
  const outputs = rowOutputs(gpu, rows);
  const workgroup = gpu.workgroupSize(WORKGROUP);
  for (const part of rowParts(gpu, rows, layout.stride * layout.itemBytes, limit)) {
    gpu.run({
      label: "log_prob_entropy",
      source: rowStatisticsSource(layout, attrs.columns, workgroup, false),
      buffers: [part.slice(logits), targets, ...outputs],
      uniforms: [
        ["u32", part.rows],
        ["u32", part.first],
        ["u32", layout.stride],
        ["u32", attrs.columns],
        ["f32", 1 / attrs.temperature],
        ["i32", 0],
        ["u32", 1],
        ["u32", 1],
      ],
      workgroups: gridOf(gpu, part.rows),
    });
  }
  return outputs;
}

/** Room for log-prob, entropy, log-sum-exp and Σπ², [rows] each, and the normaliser, [rows, 2]. */
export const rowOutputs = (gpu: Gpu, rows: number): tf.TensorInfo[] =>
  [[rows], [rows], [rows], [rows], [rows, 2]].map((shape) => gpu.allocate(shape));

/** The gradient of the logits. @param limit bytes of one binding; for tests. */
export function logProbEntropyGradient(gpu: Gpu, inputs: Inputs, attrs: LogProbAttrs, limit?: number): tf.TensorInfo {
  const { logits, targets } = inputs as { logits: tf.TensorInfo; targets: tf.TensorInfo };
  const rows = logits.shape[0]!;
  const layout = logitsLayout(attrs.columns, attrs.half);
  const gradients = gpu.allocate(logits.shape, logits.dtype);
  const coefficients = rowCoefficients(gpu, inputs, rows, attrs.temperature);
  for (const part of rowParts(gpu, rows, layout.stride * layout.itemBytes, limit)) {
    runRowGradient(gpu, {
      layout,
      columns: attrs.columns,
      rows: part.rows,
      firstRow: part.first,
      firstColumn: 0,
      temperature: attrs.temperature,
      buffers: [part.slice(logits), targets, coefficients, part.slice(gradients)],
    });
  }
  gpu.release(coefficients);
  return gradients;
}

/** See `coefficientSource`. @param inputs `entropy`, `normaliser`, `sumPiSquared`, `dLogProb`, `dEntropy`, `dLogSumExp`, `dSumPiSquared`. */
export function rowCoefficients(gpu: Gpu, inputs: Inputs, rows: number, temperature: number): tf.TensorInfo {
  const { entropy, normaliser, sumPiSquared, dLogProb, dEntropy, dLogSumExp, dSumPiSquared } = inputs;
  const coefficients = gpu.allocate([rows * COEFFICIENTS]);
  const workgroup = gpu.workgroupSize(WORKGROUP);
  gpu.run({
    label: "log_prob_entropy_coefficients",
    source: coefficientSource(workgroup),
    buffers: [entropy, normaliser, sumPiSquared, dLogProb, dEntropy, dLogSumExp, dSumPiSquared, coefficients].map(
      (buffer) => buffer!,
    ),
    uniforms: [
      ["u32", rows],
      ["f32", 1 / temperature],
    ],
    workgroups: gridOf(gpu, Math.ceil(rows / workgroup)),
  });
  return coefficients;
}

export interface RowGradientRun {
  layout: LogitsLayout;
  columns: number;
  rows: number;
  firstRow: number;
  firstColumn: number;
  temperature: number;
  /** Logits, targets, coefficients; gradients unless they take the logits' place. */
  buffers: readonly (tf.TensorInfo | Slice)[];
}

export function runRowGradient(gpu: Gpu, run: RowGradientRun): void {
  const { layout, columns, rows, buffers } = run;
  const workgroup = gpu.workgroupSize(WORKGROUP);
  gpu.run({
    label: "log_prob_entropy_gradient",
    source: rowGradientSource(layout, columns, workgroup, buffers.length === 3),
    buffers,
    uniforms: [
      ["u32", rows],
      ["u32", run.firstRow],
      ["u32", layout.stride],
      ["u32", columns],
      ["f32", 1 / run.temperature],
      ["i32", run.firstColumn],
    ],
    workgroups: [Math.ceil(layout.stride / (GRADIENT_ITEMS * workgroup)), ...gridOf(gpu, rows)],
  });
}
