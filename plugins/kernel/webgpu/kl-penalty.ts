import * as tf from "@tensorflow/tfjs";
import type { FusedKl } from "verl";
import { BUILTINS, type Inputs, WORKGROUP } from "./batch-kernels.ts";
import { type Gpu, gridOf, LINEAR_WORKGROUP } from "./dispatch.ts";

/** Value and slope in log π_θ of an estimator, from `x` = log π_θ − log π_ref. */
const KL: Readonly<Record<FusedKl, { value: string; slope: string }>> = {
  k1: { value: "x", slope: "1.0" },
  abs: { value: "abs(x)", slope: "sign(x)" },
  k2: { value: "0.5 * x * x", slope: "x" },
  k3: {
    value: "min(y * y * exp_rest(y), 10.0)",
    slope: "select(0.0, -y * (1.0 + y * exp_rest(y)), abs(x) <= 20.0 && y * y * exp_rest(y) <= 10.0)",
  },
};

/** WGSL: (e^y − y − 1) / y², by its series where 1 would take the digits; what is left out of it is below 5e-7. */
const EXP_REST = `
fn exp_rest(y: f32) -> f32 {
  if (abs(y) > 0.7) { return (exp(y) - y - 1.0) / (y * y); }
  return 0.5 + y * (1.0 / 6.0 + y * (1.0 / 24.0 + y * (1.0 / 120.0 + y * (1.0 / 720.0 + y * (1.0 / 5040.0 + y / 40320.0)))));
}`;

export const klPenalty = (gpu: Gpu, inputs: Inputs, { kind }: { kind: FusedKl }): tf.TensorInfo =>
  elementwise(gpu, `kl_${kind}`, KL[kind].value, [inputs["logProbs"]!, inputs["refLogProbs"]!]);

/** Where nothing depends on a token, its slope is 0, whatever stands there. */
export const klPenaltyGradient = (gpu: Gpu, inputs: Inputs, { kind }: { kind: FusedKl }): tf.TensorInfo =>
  elementwise(gpu, `kl_${kind}_gradient`, `select(0.0, (${KL[kind].slope}) * d, d != 0.0)`, [
    inputs["logProbs"]!,
    inputs["refLogProbs"]!,
    inputs["dOutput"]!,
  ]);

function elementwise(gpu: Gpu, label: string, expression: string, inputs: readonly tf.TensorInfo[]): tf.TensorInfo {
  const [logProbs] = inputs;
  const size = tf.util.sizeFromShape(logProbs!.shape);
  const out = gpu.allocate(logProbs!.shape);
  if (size === 0) return out;
  const workgroup = gpu.workgroupSize(WORKGROUP);
  const slopes = inputs.length === 3;
  gpu.run({
    label,
    source: `
struct Params { size: u32 }
@group(0) @binding(0) var<storage, read> log_probs: array<f32>;
@group(0) @binding(1) var<storage, read> ref_log_probs: array<f32>;
${slopes ? "@group(0) @binding(2) var<storage, read> d_output: array<f32>;" : ""}
@group(0) @binding(${inputs.length}) var<storage, read_write> result: array<f32>;
@group(0) @binding(${inputs.length + 1}) var<uniform> params: Params;
${EXP_REST}
@compute @workgroup_size(${workgroup})
fn main(${BUILTINS}) {
  let i = ${LINEAR_WORKGROUP} * ${workgroup}u + thread;
  if (i >= params.size) { return; }
  let x = log_probs[i] - ref_log_probs[i];
  let y = clamp(-x, -20.0, 20.0);
  ${slopes ? "let d = d_output[i];" : ""}
  result[i] = ${expression};
}`,
    buffers: [...inputs, out],
    uniforms: [["u32", size]],
    workgroups: gridOf(gpu, Math.ceil(size / workgroup)),
  });
  return out;
}
