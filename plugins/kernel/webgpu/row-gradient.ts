import { LINEAR_WORKGROUP } from "./dispatch.ts";
import { hasSpareLane, type LogitsLayout } from "./logits-layout.ts";

/** Items a thread. */
export const GRADIENT_ITEMS = 8;

/** Floats a row that `coefficientSource` writes. */
export const COEFFICIENTS = 8;

/**
 * WGSL: what the gradient of a row's logits needs of the row. With u = z − log Σ e^z and p = e^u
 *
 *     dz_j = dlp [j = target] + p (k − dH u + 2 dS p),     k = dL − dlp − dH H − 2 dS S
 *
 * for the gradients dlp of the log-prob, dH of the entropy H, dL of the log-sum-exp and dS of S = Σπ². All times 1/temperature.
 */
export const coefficientSource = (workgroup: number): string => `
struct Params { rows: u32, scale: f32 }
@group(0) @binding(0) var<storage, read> entropy: array<f32>;
@group(0) @binding(1) var<storage, read> normaliser: array<vec2f>;
@group(0) @binding(2) var<storage, read> sumPiSquared: array<f32>;
@group(0) @binding(3) var<storage, read> dLogProb: array<f32>;
@group(0) @binding(4) var<storage, read> dEntropy: array<f32>;
@group(0) @binding(5) var<storage, read> dLogSumExp: array<f32>;
@group(0) @binding(6) var<storage, read> dSumPiSquared: array<f32>;
@group(0) @binding(7) var<storage, read_write> coefficients: array<vec4f>;
@group(0) @binding(8) var<uniform> params: Params;

@compute @workgroup_size(${workgroup})
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) thread: u32) {
  let row = ${LINEAR_WORKGROUP} * ${workgroup}u + thread;
  if (row >= params.rows) { return; }
  let a = dLogProb[row] * params.scale;
  let b = dEntropy[row] * params.scale;
  let c = dLogSumExp[row] * params.scale;
  let d = 2.0 * dSumPiSquared[row] * params.scale;
  // A row that nothing depends on is not read, so that whatever stands in it does no harm.
  let used = select(0.0, 1.0, a != 0.0 || b != 0.0 || c != 0.0 || d != 0.0);
  var k = c - a;
  if (b != 0.0) { k -= b * entropy[row]; }
  if (d != 0.0) { k -= d * sumPiSquared[row]; }
  coefficients[2u * row] = vec4f(normaliser[row].x, k, a, b);
  coefficients[2u * row + 1u] = vec4f(d, used, normaliser[row].y, 0.0);
}`;

/**
 * WGSL: gradients of logits, one read and one write. Grid: blocks of items along x, rows along y and z.
 *
 * Buffers: logits, targets, coefficients, and the gradients unless they take the logits' place.
 */
export function rowGradientSource(layout: LogitsLayout, columns: number, workgroup: number, inPlace: boolean): string {
  const spare = hasSpareLane(layout, columns);
  const parts = Array.from({ length: layout.parts }, (_, k) => k);
  const out = inPlace ? "logits" : "gradients";
  const last = inPlace ? 3 : 4;
  return `
${layout.functions}
struct Params { rows: u32, firstRow: u32, stride: u32, columns: u32, scale: f32, firstColumn: i32 }
@group(0) @binding(0) var<storage, ${inPlace ? "read_write" : "read"}> logits: array<${layout.item}>;
@group(0) @binding(1) var<storage, read> targets: array<i32>;
@group(0) @binding(2) var<storage, read> coefficients: array<vec4f>;
${inPlace ? "" : `@group(0) @binding(3) var<storage, read_write> gradients: array<${layout.item}>;`}
@group(0) @binding(${last}) var<uniform> params: Params;

const SMALLEST = -100.0;
const WORKGROUP = ${workgroup}u;

// The maximum is taken off before the log of the mass: their sum would round where logits are large.
fn slope(z: ${layout.part}, row: vec4f, more: vec4f) -> ${layout.part} {
  let u = max((z - row.x) * params.scale - more.z, ${layout.part}(SMALLEST));
  let p = exp(u);
  return p * (row.y - row.w * u + more.x * p);
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) thread: u32) {
  let row = group.y + group.z * groups.y;
  if (row >= params.rows) { return; }
  let place = params.firstRow + row;
  let coefficient = coefficients[2u * place];
  let more = coefficients[2u * place + 1u];
  let start = row * params.stride;
  // Wraps around for targets in front of this piece, and so is in no item of it.
  let target_column = u32(targets[place] - params.firstColumn);
  let first = group.x * ${GRADIENT_ITEMS}u * WORKGROUP + thread;
  if (more.y == 0.0) {
    for (var k = 0u; k < ${GRADIENT_ITEMS}u; k += 1u) {
      let at = first + k * WORKGROUP;
      if (at < params.stride) { ${out}[start + at] = ${layout.item}(); }
    }
    return;
  }
  for (var k = 0u; k < ${GRADIENT_ITEMS}u; k += 1u) {
    let at = first + k * WORKGROUP;
    if (at >= params.stride) { break; }
    let item = logits[start + at];
    ${parts.map((k) => `var g${k} = slope(part${k}(item), coefficient, more);`).join("\n    ")}
    if (target_column / ${layout.width}u == at) {
      let lane = target_column % ${layout.width}u;
      ${parts
        .map(
          (k) =>
            `if (lane / ${layout.lanes}u == ${k}u) { g${k} = bump(g${k}, lane % ${layout.lanes}u, coefficient.z); }`,
        )
        .join("\n      ")}
    }
    ${spare ? `if (at + 1u == params.stride) { g${layout.parts - 1}[${layout.lanes - 1}] = 0.0; }` : ""}
    ${out}[start + at] = pack(${parts.map((k) => `g${k}`).join(", ")});
  }
}`;
}
