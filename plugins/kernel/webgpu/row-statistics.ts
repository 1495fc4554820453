import { LINEAR_WORKGROUP } from "./dispatch.ts";
import { hasSpareLane, type LogitsLayout } from "./logits-layout.ts";

/** Loads in flight a thread, so that memory is busy while exponentials are computed. */
const UNROLL = 4;

/** Running numbers a row: those of `Sums`, and the target's logit. */
export const STATE = 6;

/**
 * WGSL: chosen log-prob, entropy, log-sum-exp and Σπ² of rows of logits, one workgroup a row, each logit read once.
 *
 * Each thread folds its logits into Σe, Σd·e and Σe² with d = (z − m) / temperature and e = exp(d), rescaled when the maximum m rises (Milakov
 * and Gimelshein 2018). Sums of d rather than of z, and z that is not divided before m is taken off, keep results exact where logits are large; what equals the maximum is counted apart from
 * the rest, so that the log of the mass keeps its digits where almost all of it is one token's. d is cut at −100, where e is 0 in float32,
 * so that logits of −∞ count as nothing.
 *
 * Buffers: logits, targets, then `state` where the row comes in pieces, then the four outputs and (m, log Σe).
 * @param pieces the row comes in several dispatches; `state` carries the `STATE` running numbers of each.
 */
export function rowStatisticsSource(layout: LogitsLayout, columns: number, workgroup: number, pieces: boolean): string {
  const spare = hasSpareLane(layout, columns);
  const each = (body: (index: number) => string, count: number): string =>
    Array.from({ length: count }, (_, index) => body(index)).join("\n");
  const load = (name: string, at: string, cut = false): string => `
    let ${name} = logits[${at}];
    ${each((k) => `var ${name}_${k} = part${k}(${name});`, layout.parts)}
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
  const carried = ["top", "ones", "rest", "moment", "squares"];
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
@group(0) @binding(${first + 4}) var<storage, read_write> normalisers: array<vec2f>;
@group(0) @binding(${first + 5}) var<uniform> params: Params;

const LOWEST = -1e30;
const SMALLEST = -100.0;
const WORKGROUP = ${workgroup}u;

// ones: logits equal to top. Of the others, rest: sum of e, moment: sum of d e, squares: sum of e squared
struct Sums { top: f32, ones: f32, rest: f32, moment: f32, squares: f32 }
var<workgroup> shared_sums: array<Sums, WORKGROUP>;

fn rise(s: Sums, peak: f32) -> Sums {
  let top = max(s.top, peak);
  let d = max((s.top - top) * params.scale, SMALLEST);
  let e = exp(d);
  let ones = select(0.0, s.ones, d == 0.0);
  let falling = s.ones - ones;
  let mass = s.rest + falling;
  return Sums(top, ones, mass * e, (s.moment + d * mass) * e, (s.squares + falling) * e * e);
}
fn include(s: Sums, z: ${layout.part}) -> Sums {
  let d = max((z - s.top) * params.scale, ${layout.part}(SMALLEST));
  let is_top = d == ${layout.part}();
  let e = select(exp(d), ${layout.part}(), is_top);
  let ones = select(${layout.part}(), ${layout.part}(1.0), is_top);
  return Sums(s.top, s.ones + total(ones), s.rest + total(e), s.moment + total(d * e), s.squares + total(e * e));
}
fn join(a: Sums, b: Sums) -> Sums {
  let c = rise(a, b.top);
  let d = rise(b, a.top);
  return Sums(c.top, c.ones + d.ones, c.rest + d.rest, c.moment + d.moment, c.squares + d.squares);
}
// log(1 + x): by its series where 1 + x would lose the digits of x
fn log_of_one_and(x: f32) -> f32 {
  let series = x * (1.0 - x * (0.5 - x * (1.0 / 3.0 - x * (0.25 - x * 0.2))));
  return select(log(1.0 + x), series, x < 0.02);
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) thread: u32) {
  let row = ${LINEAR_WORKGROUP};
  if (row >= params.rows) { return; }
  let start = row * params.stride;
  let whole = params.stride - ${spare ? 1 : 0}u;
  var sums = Sums(LOWEST, 0.0, 0.0, 0.0, 0.0);
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
    chosen = element(logits[start + column / ${layout.width}u], column % ${layout.width}u);
  }
  ${
    pieces
      ? `
  if (params.isFirst == 0u) {
    let before = ${STATE}u * place;
    sums = join(sums, Sums(${carried.map((_, k) => `state[before + ${k}u]`).join(", ")}));
    chosen = max(chosen, state[before + ${STATE - 1}u]);
  }
  if (params.isLast == 0u) {
    let after = ${STATE}u * place;
    ${carried.map((name, k) => `state[after + ${k}u] = sums.${name};`).join("\n    ")}
    state[after + ${STATE - 1}u] = chosen;
    return;
  }`
      : ""
  }
  let mass = sums.ones + sums.rest;
  let logMass = log(sums.ones) + log_of_one_and(sums.rest / sums.ones);
  logProbs[place] = (chosen - sums.top) * params.scale - logMass;
  entropies[place] = logMass - sums.moment / mass;
  logSumExps[place] = sums.top * params.scale + logMass;
  sumsPiSquared[place] = (sums.ones + sums.squares) / (mass * mass);
  normalisers[place] = vec2f(sums.top, logMass);
}`;
}
