import * as tf from "@tensorflow/tfjs";
import type { FusedKl } from "verl";
import { type Gpu, gridOf, LINEAR_WORKGROUP } from "./dispatch.ts";

type Inputs = Readonly<Record<string, tf.TensorInfo>>;

const WORKGROUP = 256;
/** Workgroups that share a whole batch's elements. */
const MOST_GROUPS = 512;

/** WGSL: count, mean and sum of squared distances of a part, joined pairwise (Chan, Golub and LeVeque 1979): one read, no cancellation. */
const MOMENTS = (workgroup: number): string => `
var<workgroup> shared_moments: array<vec3f, ${workgroup}>;
fn include(m: vec3f, x: f32) -> vec3f {
  let n = m.x + 1.0;
  let off = x - m.y;
  let mean = m.y + off / n;
  return vec3f(n, mean, m.z + off * (x - mean));
}
fn join(a: vec3f, b: vec3f) -> vec3f {
  let n = a.x + b.x;
  if (n == 0.0) { return vec3f(); }
  let off = b.y - a.y;
  return vec3f(n, a.y + off * b.x / n, a.z + b.z + off * off * a.x * b.x / n);
}
fn joined(own: vec3f, thread: u32) -> vec3f {
  shared_moments[thread] = own;
  workgroupBarrier();
  for (var half = ${workgroup / 2}u; half > 0u; half /= 2u) {
    if (thread < half) { shared_moments[thread] = join(shared_moments[thread], shared_moments[thread + half]); }
    workgroupBarrier();
  }
  return shared_moments[0];
}`;

const BUILTINS = `@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) thread: u32`;

export function maskedWhiten(gpu: Gpu, inputs: Inputs, { shiftMean }: { shiftMean: boolean }): tf.TensorInfo {
  const { values, mask } = inputs as Record<"values" | "mask", tf.TensorInfo>;
  const size = tf.util.sizeFromShape(values.shape);
  const workgroup = gpu.workgroupSize(WORKGROUP);
  const groups = Math.min(MOST_GROUPS, Math.ceil(size / workgroup));
  const out = gpu.allocate(values.shape);
  if (size === 0) return out;
  const partials = gpu.allocate([3 * groups]);
  gpu.run({
    label: "masked_moments",
    source: `
struct Params { size: u32, groups: u32 }
@group(0) @binding(0) var<storage, read> values: array<f32>;
@group(0) @binding(1) var<storage, read> mask: array<f32>;
@group(0) @binding(2) var<storage, read_write> partials: array<f32>;
@group(0) @binding(3) var<uniform> params: Params;
${MOMENTS(workgroup)}
@compute @workgroup_size(${workgroup})
fn main(${BUILTINS}) {
  var own = vec3f();
  for (var i = group.x * ${workgroup}u + thread; i < params.size; i += params.groups * ${workgroup}u) {
    if (mask[i] > 0.0) { own = include(own, values[i]); }
  }
  let all = joined(own, thread);
  if (thread < 3u) { partials[3u * group.x + thread] = all[thread]; }
}`,
    buffers: [values, mask, partials],
    uniforms: [
      ["u32", size],
      ["u32", groups],
    ],
    workgroups: [groups],
  });
  gpu.run({
    label: "masked_whiten",
    source: `
struct Params { size: u32, groups: u32, keepMean: f32 }
@group(0) @binding(0) var<storage, read> values: array<f32>;
@group(0) @binding(1) var<storage, read> mask: array<f32>;
@group(0) @binding(2) var<storage, read> partials: array<f32>;
@group(0) @binding(3) var<storage, read_write> result: array<f32>;
@group(0) @binding(4) var<uniform> params: Params;
${MOMENTS(workgroup)}
@compute @workgroup_size(${workgroup})
fn main(${BUILTINS}) {
  var own = vec3f();
  for (var i = thread; i < params.groups; i += ${workgroup}u) {
    own = join(own, vec3f(partials[3u * i], partials[3u * i + 1u], partials[3u * i + 2u]));
  }
  let all = joined(own, thread);
  let scale = 1.0 / sqrt(all.z / max(all.x - 1.0, 1.0) + 1e-8);
  for (var i = group.x * ${workgroup}u + thread; i < params.size; i += params.groups * ${workgroup}u) {
    result[i] = select(0.0, (values[i] - all.y) * scale + all.y * params.keepMean, mask[i] > 0.0);
  }
}`,
    buffers: [values, mask, partials, out],
    uniforms: [
      ["u32", size],
      ["u32", groups],
      ["f32", shiftMean ? 0 : 1],
    ],
    workgroups: [groups],
  });
  gpu.release(partials);
  return out;
}

/** One workgroup a group; each looks at all rows. */
export function groupStatistics(gpu: Gpu, inputs: Inputs, { count }: { count: number }): tf.TensorInfo[] {
  const { values, groups } = inputs as Record<"values" | "groups", tf.TensorInfo>;
  const outputs = [1, 2, 3].map(() => gpu.allocate([count]));
  const workgroup = gpu.workgroupSize(WORKGROUP);
  gpu.run({
    label: "group_statistics",
    source: `
struct Params { rows: u32, count: u32 }
@group(0) @binding(0) var<storage, read> values: array<f32>;
@group(0) @binding(1) var<storage, read> group_of: array<i32>;
@group(0) @binding(2) var<storage, read_write> means: array<f32>;
@group(0) @binding(3) var<storage, read_write> deviations: array<f32>;
@group(0) @binding(4) var<storage, read_write> sizes: array<f32>;
@group(0) @binding(5) var<uniform> params: Params;
${MOMENTS(workgroup)}
@compute @workgroup_size(${workgroup})
fn main(${BUILTINS}) {
  let number = ${LINEAR_WORKGROUP};
  if (number >= params.count) { return; }
  var own = vec3f();
  for (var i = thread; i < params.rows; i += ${workgroup}u) {
    if (group_of[i] == i32(number)) { own = include(own, values[i]); }
  }
  let all = joined(own, thread);
  if (thread == 0u) {
    means[number] = all.y;
    deviations[number] = sqrt(all.z / max(all.x - 1.0, 1.0));
    sizes[number] = all.x;
  }
}`,
    buffers: [values, groups, ...outputs],
    uniforms: [
      ["u32", values.shape[0]!],
      ["u32", count],
    ],
    workgroups: gridOf(gpu, count),
  });
  return outputs;
}

/**
 * One workgroup a row. A run of tokens maps the advantage A and value V of what comes after it linearly to its own,
 * A ← p A + q V + c and V ← s V + v; runs of one thread are composed by a scan over the row, then each is gone through once more.
 */
export function gaeScan(gpu: Gpu, inputs: Inputs, { gamma, lam }: { gamma: number; lam: number }): tf.TensorInfo[] {
  const { rewards, values, mask } = inputs as Record<"rewards" | "values" | "mask", tf.TensorInfo>;
  const [rows, width] = rewards.shape as [number, number];
  const outputs = [1, 2].map(() => gpu.allocate([rows, width]));
  if (rows * width === 0) return outputs;
  const workgroup = gpu.workgroupSize(WORKGROUP);
  gpu.run({
    label: "gae_scan",
    source: `
struct Params { rows: u32, width: u32, run: u32, gamma: f32, decay: f32 }
struct Map { p: f32, q: f32, c: f32, s: f32, v: f32 }
@group(0) @binding(0) var<storage, read> rewards: array<f32>;
@group(0) @binding(1) var<storage, read> values: array<f32>;
@group(0) @binding(2) var<storage, read> mask: array<f32>;
@group(0) @binding(3) var<storage, read_write> advantages: array<f32>;
@group(0) @binding(4) var<storage, read_write> returns: array<f32>;
@group(0) @binding(5) var<uniform> params: Params;
var<workgroup> maps: array<Map, ${workgroup}>;

fn after(left: Map, right: Map) -> Map {
  return Map(left.p * right.p, left.p * right.q + left.q * right.s, left.p * right.c + left.q * right.v + left.c,
             left.s * right.s, left.s * right.v + left.v);
}

@compute @workgroup_size(${workgroup})
fn main(${BUILTINS}) {
  let row = ${LINEAR_WORKGROUP};
  if (row >= params.rows) { return; }
  let start = row * params.width;
  let first = min(thread * params.run, params.width);
  let end = min(first + params.run, params.width);
  var own = Map(1.0, 0.0, 0.0, 1.0, 0.0);
  for (var t = end; t > first; t -= 1u) {
    let i = start + t - 1u;
    if (mask[i] > 0.0) {
      own = after(Map(params.decay, params.gamma, rewards[i] - values[i], 0.0, values[i]), own);
    }
  }
  maps[thread] = own;
  workgroupBarrier();
  for (var reach = 1u; reach < ${workgroup}u; reach *= 2u) {
    var joined = maps[thread];
    if (thread + reach < ${workgroup}u) { joined = after(joined, maps[thread + reach]); }
    workgroupBarrier();
    maps[thread] = joined;
    workgroupBarrier();
  }
  var advantage = 0.0;
  var next = 0.0;
  if (thread + 1u < ${workgroup}u) { advantage = maps[thread + 1u].c; next = maps[thread + 1u].v; }
  for (var t = end; t > first; t -= 1u) {
    let i = start + t - 1u;
    if (mask[i] > 0.0) {
      advantage = rewards[i] - values[i] + params.gamma * next + params.decay * advantage;
      next = values[i];
      advantages[i] = advantage;
      returns[i] = advantage + next;
    } else {
      advantages[i] = 0.0;
      returns[i] = 0.0;
    }
  }
}`,
    buffers: [rewards, values, mask, ...outputs],
    uniforms: [
      ["u32", rows],
      ["u32", width],
      ["u32", Math.ceil(width / workgroup)],
      ["f32", gamma],
      ["f32", gamma * lam],
    ],
    workgroups: gridOf(gpu, rows),
  });
  return outputs;
}

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
