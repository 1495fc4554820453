import { LINEAR_WORKGROUP } from "./dispatch.ts";
import { hasSpareLane, type LogitsLayout } from "./logits-layout.ts";

/** Loads in flight a thread, so that memory is busy while exponentials are computed. */
const UNROLL = 4;

/**
 * WGSL: chosen log-prob, entropy, log-sum-exp and Σπ² of rows of logits, one workgroup a row, each logit read once.
 *
 * Each thread folds its logits into (m, Σe, Σd·e, Σe²) with d = z − m and e = exp(d), rescaled when the maximum m rises (Milakov and
 * Gimelshein 2018). Sums of d rather than of z keep the entropy exact where logits are large. d is cut at −100, where e is 0 in float32, so
 * that logits of −∞ count as nothing.
 *
 * Buffers: logits, targets, then `state` where the row comes in pieces, then the four outputs.
 * @param pieces the row comes in several dispatches; `state` carries the five running numbers of each.
 */
export function rowStatisticsSource(layout: LogitsLayout, columns: number, workgroup: number, pieces: boolean): string {
  const spare = hasSpareLane(layout, columns);
  const each = (body: (index: number) => string, count: number): string =>
    Array.from({ length: count }, (_, index) => body(index)).join("\n");
  const load = (name: string, at: string, cut = false): string => `
    let ${name} = logits[${at}];
    ${each((k) => `var ${name}_${k} = part${k}(${name}) * params.scale;`, layout.parts)}
    ${cut ? `${name}_${layout.parts - 1}[${layout.lanes - 1}] = LOWEST;` : ""}`;
  const tops = (names: string[]): string =>
    names
      .flatMap((name) => Array.from({ length: layout.parts }, (_, k) => `peak(${name}_${k})`))
      .reduce((a, b) => `max(${a}, ${b})`);
  const fold = (names: string[]): string => `
    sums = rise(sums, ${tops(names)});
    ${names.map((name) => each((k) => `sums = include(sums, ${name}_${k});`, layout.parts)).join("\n")}`;
  const unrolled = Array.from({ length: UNROLL }, (_, k) => `x${k}`);
  const first = pieces ? 3 : 2;
  return `
${layout.functions}
struct Params { rows: u32, firstRow: u32, stride: u32, columns: u32, scale: f32, firstColumn: i32, isFirst: u32, isLast: u32 }
@group(0) @binding(0) var<storage, read> logits: array<${layout.item}>;
@group(0) @binding(1) var<storage, read> targets: array<i32>;
${pieces ? `@group(0) @binding(2) var<storage, read_write> state: array<f32>;` : ""}
@group(0) @binding(${first}) var<storage, read_write> logProbs: array<f32>;
@group(0) @binding(${first + 1}) var<storage, read_write> entropies: array<f32>;
@group(0) @binding(${first + 2}) var<storage, read_write> logSumExps: array<f32>;
@group(0) @binding(${first + 3}) var<storage, read_write> sumsPiSquared: array<f32>;
@group(0) @binding(${first + 4}) var<uniform> params: Params;

const LOWEST = -1e30;
const SMALLEST = -100.0;
const WORKGROUP = ${workgroup}u;
var<workgroup> shared_sums: array<vec4f, WORKGROUP>;

// x: maximum, y: sum of e, z: sum of d e, w: sum of e squared
fn moved(sums: vec4f, top: f32) -> vec4f {
  let d = max(sums.x - top, SMALLEST);
  let e = exp(d);
  return vec4f(top, sums.y * e, (sums.z + d * sums.y) * e, sums.w * e * e);
}
fn rise(sums: vec4f, top: f32) -> vec4f { return moved(sums, max(sums.x, top)); }
fn include(sums: vec4f, z: ${layout.part}) -> vec4f {
  let d = max(z - sums.x, ${layout.part}(SMALLEST));
  let e = exp(d);
  return sums + vec4f(0.0, total(e), total(d * e), total(e * e));
}
fn join(a: vec4f, b: vec4f) -> vec4f {
  let top = max(a.x, b.x);
  let c = moved(a, top);
  let d = moved(b, top);
  return vec4f(top, c.yzw + d.yzw);
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) thread: u32) {
  let row = ${LINEAR_WORKGROUP};
  if (row >= params.rows) { return; }
  let start = row * params.stride;
  let whole = params.stride - ${spare ? 1 : 0}u;
  var sums = vec4f(LOWEST, 0.0, 0.0, 0.0);
  var at = thread;
  for (; at + ${UNROLL - 1}u * WORKGROUP < whole; at += ${UNROLL}u * WORKGROUP) {
    ${unrolled.map((name, k) => load(name, `start + at + ${k}u * WORKGROUP`)).join("")}
    ${fold(unrolled)}
  }
  for (; at < whole; at += WORKGROUP) {
    ${load("x", "start + at")}
    ${fold(["x"])}
  }
  ${spare ? `if (thread == 0u) {${load("x", "start + whole", true)}${fold(["x"])}}` : ""}
  shared_sums[thread] = sums;
  workgroupBarrier();
  for (var half = WORKGROUP / 2u; half > 0u; half /= 2u) {
    if (thread < half) { shared_sums[thread] = join(shared_sums[thread], shared_sums[thread + half]); }
    workgroupBarrier();
  }
  if (thread != 0u) { return; }
  sums = shared_sums[0];
  let place = params.firstRow + row;
  let target_column = targets[place] - params.firstColumn;
  var chosen = LOWEST;
  if (target_column >= 0 && target_column < i32(params.columns)) {
    let column = u32(target_column);
    chosen = element(logits[start + column / ${layout.width}u], column % ${layout.width}u) * params.scale;
  }
  ${
    pieces
      ? `
  if (params.isFirst == 0u) {
    sums = join(sums, vec4f(state[5u * place], state[5u * place + 1u], state[5u * place + 2u], state[5u * place + 3u]));
    chosen = max(chosen, state[5u * place + 4u]);
  }
  if (params.isLast == 0u) {
    for (var k = 0u; k < 4u; k += 1u) { state[5u * place + k] = sums[k]; }
    state[5u * place + 4u] = chosen;
    return;
  }`
      : ""
  }
  let logMass = log(sums.y);
  logProbs[place] = (chosen - sums.x) - logMass;
  entropies[place] = logMass - sums.z / sums.y;
  logSumExps[place] = sums.x + logMass;
  sumsPiSquared[place] = sums.w / (sums.y * sums.y);
}`;
}
