import type * as tf from "@tensorflow/tfjs";
import type { Gpu, Slice } from "./dispatch.ts";

/** Rows and columns of the result that a workgroup computes, 8 × 8 a thread. */
const TILE = 128;
const THREADS = 256;
/** Steps along the inner dimension between barriers. */
const DEPTH = 8;
/** Vectors between neighbouring steps in workgroup memory; odd, so that threads write to different banks. */
const PITCH = TILE / 4 + 1;

/** An operand, [outer, inner] elements, where outer is the dimension that it shares with the result. */
export interface Operand {
  readonly buffer: tf.TensorInfo | Slice;
  /** True where neighbours in memory are neighbours along the outer dimension: [inner, outer] in memory. */
  readonly transposed: boolean;
}

export interface MatmulRun {
  readonly a: Operand;
  readonly b: Operand;
  /** [rows, columns], written densely. */
  readonly out: tf.TensorInfo | Slice;
  readonly rows: number;
  readonly columns: number;
  readonly inner: number;
  /** Add to what `out` holds. */
  readonly accumulate?: boolean;
}

/**
 * out[i, j] = Σ_k a[i, k] b[j, k] in float32, register-tiled. tfjs' own product copies parts of operands, which for a vocabulary's worth of
 * weights is most of the memory.
 */
export function matmul(gpu: Gpu, { a, b, out, rows, columns, inner, accumulate = false }: MatmulRun): void {
  const vectorized = (operand: Operand, outer: number): boolean => (operand.transposed ? outer : inner) % 4 === 0;
  gpu.run({
    label: "matmul",
    source: source({
      a: { transposed: a.transposed, vectors: vectorized(a, rows) },
      b: { transposed: b.transposed, vectors: vectorized(b, columns) },
      outVectors: columns % 4 === 0,
      accumulate,
    }),
    buffers: [a.buffer, b.buffer, out],
    uniforms: [
      ["u32", rows],
      ["u32", columns],
      ["u32", inner],
    ],
    // Neighbours in the grid share their columns of b, which is the larger operand.
    workgroups: [Math.ceil(rows / TILE), Math.ceil(columns / TILE)],
  });
}

interface Side {
  readonly transposed: boolean;
  /** Whether memory can be read four numbers at a time. */
  readonly vectors: boolean;
}

const range = (count: number): number[] => Array.from({ length: count }, (_, i) => i);

/** WGSL function `load_<name>(outer, k) -> vec4f`: four numbers along the operand's contiguous dimension, 0 outside. */
function loader(name: string, outerSize: string, { transposed, vectors }: Side): string {
  const [contiguous, size, other, otherSize] = transposed
    ? ["outer", outerSize, "k", "params.inner"]
    : ["k", "params.inner", "outer", outerSize];
  const body = vectors
    ? `if (${contiguous} < ${size}) { return ${name}[(${other} * ${size} + ${contiguous}) / 4u]; }
  return vec4f();`
    : `var four = vec4f();
  for (var i = 0u; i < 4u; i += 1u) {
    if (${contiguous} + i < ${size}) { four[i] = ${name}[${other} * ${size} + ${contiguous} + i]; }
  }
  return four;`;
  return `
fn load_${name}(outer: u32, k: u32) -> vec4f {
  if (${other} >= ${otherSize}) { return vec4f(); }
  ${body}
}`;
}

/** Where this thread's four numbers of an operand's tile stand: outer and inner offset within it. */
const place = ({ transposed }: Side): string =>
  transposed ? `vec2u(4u * (thread % 32u), thread / 32u)` : `vec2u(thread / 2u, 4u * (thread % 2u))`;

const store = (name: string, { transposed }: Side): string =>
  transposed
    ? `tile_${name}[place_${name}.y * ${PITCH}u + place_${name}.x / 4u] = next_${name};`
    : range(4)
        .map(
          (i) =>
            `tile_${name}[(place_${name}.y + ${i}u) * ${PITCH}u + place_${name}.x / 4u][place_${name}.x % 4u] = next_${name}[${i}];`,
        )
        .join("\n    ");

function source({
  a,
  b,
  outVectors,
  accumulate,
}: {
  a: Side;
  b: Side;
  outVectors: boolean;
  accumulate: boolean;
}): string {
  const rows = range(8);
  const halves = range(2);
  const vectorOrScalar = (vectors: boolean): string => (vectors ? "vec4f" : "f32");
  const plus = accumulate ? "+=" : "=";
  const write = (row: number, half: number): string =>
    outVectors
      ? `if (row < params.rows && column < params.columns) { out[(row * params.columns + column) / 4u] ${plus} c${row}${half}; }`
      : `if (row < params.rows) {
      for (var i = 0u; i < 4u; i += 1u) {
        if (column + i < params.columns) { out[row * params.columns + column + i] ${plus} c${row}${half}[i]; }
      }
    }`;
  return `
struct Params { rows: u32, columns: u32, inner: u32 }
@group(0) @binding(0) var<storage, read> a: array<${vectorOrScalar(a.vectors)}>;
@group(0) @binding(1) var<storage, read> b: array<${vectorOrScalar(b.vectors)}>;
@group(0) @binding(2) var<storage, read_write> out: array<${vectorOrScalar(outVectors)}>;
@group(0) @binding(3) var<uniform> params: Params;
var<workgroup> tile_a: array<vec4f, ${DEPTH * PITCH}>;
var<workgroup> tile_b: array<vec4f, ${DEPTH * PITCH}>;
${loader("a", "params.rows", a)}
${loader("b", "params.columns", b)}

@compute @workgroup_size(${THREADS})
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) thread: u32) {
  let first_row = group.x * ${TILE}u;
  let first_column = group.y * ${TILE}u;
  let place_a = ${place(a)};
  let place_b = ${place(b)};
  let x = thread % 16u;
  let y = thread / 16u;
  ${rows.map((row) => halves.map((half) => `var c${row}${half} = vec4f();`).join(" ")).join("\n  ")}
  var next_a = load_a(first_row + place_a.x, place_a.y);
  var next_b = load_b(first_column + place_b.x, place_b.y);
  for (var k = 0u; k < params.inner; k += ${DEPTH}u) {
    ${store("a", a)}
    ${store("b", b)}
    workgroupBarrier();
    next_a = load_a(first_row + place_a.x, k + ${DEPTH}u + place_a.y);
    next_b = load_b(first_column + place_b.x, k + ${DEPTH}u + place_b.y);
    for (var step = 0u; step < ${DEPTH}u; step += 1u) {
      let a0 = tile_a[step * ${PITCH}u + y];
      let a1 = tile_a[step * ${PITCH}u + 16u + y];
      let b0 = tile_b[step * ${PITCH}u + x];
      let b1 = tile_b[step * ${PITCH}u + 16u + x];
      ${rows
        .map((row) =>
          halves
            .map((half) => `c${row}${half} = fma(vec4f(a${row >> 2}[${row & 3}]), b${half}, c${row}${half});`)
            .join(" "),
        )
        .join("\n      ")}
    }
    workgroupBarrier();
  }
  ${rows
    .map((row) =>
      halves
        .map(
          (half) => `{
    let row = first_row + ${row < 4 ? 0 : 64}u + 4u * y + ${row % 4}u;
    let column = first_column + ${64 * half}u + 4u * x;
    ${write(row, half)}
  }`,
        )
        .join("\n  "),
    )
    .join("\n  ")}
}`;
}
