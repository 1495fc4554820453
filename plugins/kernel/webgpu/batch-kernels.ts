import * as tf from "@tensorflow/tfjs";
import { type Gpu, gridOf, LINEAR_WORKGROUP } from "./dispatch.ts";

export type Inputs = Readonly<Record<string, tf.TensorInfo>>;

export const WORKGROUP = 256;
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

/**
 * WGSL: the first place below `size` for which a condition on `i` holds, or `size`. Statistics count from what stands there: numbers that are
 * close to one another and far from 0 keep their digits then.
 */
const FIRST_PLACE = (workgroup: number, size: string, condition: string): string => `
var<workgroup> first: atomic<u32>;
fn first_place(thread: u32) -> u32 {
  if (thread == 0u) { atomicStore(&first, ${size}); }
  workgroupBarrier();
  for (var i = thread; i < atomicLoad(&first); i += ${workgroup}u) {
    if (${condition}) { atomicMin(&first, i); }
  }
  workgroupBarrier();
  return atomicLoad(&first);
}`;

export const BUILTINS = `@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) thread: u32`;

export function maskedWhiten(gpu: Gpu, inputs: Inputs, { shiftMean }: { shiftMean: boolean }): tf.TensorInfo {
  const { values, mask } = inputs as Record<"values" | "mask", tf.TensorInfo>;
  const size = tf.util.sizeFromShape(values.shape);
  const workgroup = gpu.workgroupSize(WORKGROUP);
  const groups = Math.min(MOST_GROUPS, Math.ceil(size / workgroup));
  const out = gpu.allocate(values.shape);
  if (size === 0) return out;
  const partials = gpu.allocate([3 * groups]);
  const pivot = gpu.allocate([1]);
  gpu.run({
    label: "masked_pivot",
    source: `
struct Params { size: u32 }
@group(0) @binding(0) var<storage, read> values: array<f32>;
@group(0) @binding(1) var<storage, read> mask: array<f32>;
@group(0) @binding(2) var<storage, read_write> pivot: array<f32>;
@group(0) @binding(3) var<uniform> params: Params;
${FIRST_PLACE(workgroup, "params.size", "mask[i] > 0.0")}
@compute @workgroup_size(${workgroup})
fn main(${BUILTINS}) {
  let place = first_place(thread);
  if (thread == 0u) {
    if (place < params.size) { pivot[0] = values[place]; } else { pivot[0] = 0.0; }
  }
}`,
    buffers: [values, mask, pivot],
    uniforms: [["u32", size]],
    workgroups: [1],
  });
  gpu.run({
    label: "masked_moments",
    source: `
struct Params { size: u32, groups: u32 }
@group(0) @binding(0) var<storage, read> values: array<f32>;
@group(0) @binding(1) var<storage, read> mask: array<f32>;
@group(0) @binding(2) var<storage, read> pivot: array<f32>;
@group(0) @binding(3) var<storage, read_write> partials: array<f32>;
@group(0) @binding(4) var<uniform> params: Params;
${MOMENTS(workgroup)}
@compute @workgroup_size(${workgroup})
fn main(${BUILTINS}) {
  var own = vec3f();
  for (var i = group.x * ${workgroup}u + thread; i < params.size; i += params.groups * ${workgroup}u) {
    if (mask[i] > 0.0) { own = include(own, values[i] - pivot[0]); }
  }
  let all = joined(own, thread);
  if (thread < 3u) { partials[3u * group.x + thread] = all[thread]; }
}`,
    buffers: [values, mask, pivot, partials],
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
@group(0) @binding(2) var<storage, read> pivot: array<f32>;
@group(0) @binding(3) var<storage, read> partials: array<f32>;
@group(0) @binding(4) var<storage, read_write> result: array<f32>;
@group(0) @binding(5) var<uniform> params: Params;
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
    let off = values[i] - pivot[0] - all.y;
    result[i] = select(0.0, off * scale + (pivot[0] + all.y) * params.keepMean, mask[i] > 0.0);
  }
}`,
    buffers: [values, mask, pivot, partials, out],
    uniforms: [
      ["u32", size],
      ["u32", groups],
      ["f32", shiftMean ? 0 : 1],
    ],
    workgroups: [groups],
  });
  gpu.release(partials);
  gpu.release(pivot);
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
var<private> number: i32;
${FIRST_PLACE(workgroup, "params.rows", "group_of[i] == number")}
@compute @workgroup_size(${workgroup})
fn main(${BUILTINS}) {
  let own_group = ${LINEAR_WORKGROUP};
  if (own_group >= params.count) { return; }
  number = i32(own_group);
  let place = first_place(thread);
  var pivot = 0.0;
  if (place < params.rows) { pivot = values[place]; }
  var own = vec3f();
  for (var i = thread; i < params.rows; i += ${workgroup}u) {
    if (group_of[i] == number) { own = include(own, values[i] - pivot); }
  }
  let all = joined(own, thread);
  if (thread == 0u) {
    means[own_group] = pivot + all.y;
    deviations[own_group] = sqrt(all.z / max(all.x - 1.0, 1.0));
    sizes[own_group] = all.x;
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
