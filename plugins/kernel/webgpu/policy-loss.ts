import * as tf from "@tensorflow/tfjs";
import { lossDivisor, type PolicyLossAttrs } from "verl";
import { type Gpu, gridOf, LINEAR_WORKGROUP } from "./dispatch.ts";
import { FORMULAS, type LossFormula } from "./loss-formulas.ts";
import { rowParts } from "./row-parts.ts";

type Inputs = Readonly<Record<string, tf.TensorInfo | undefined>>;

/** Most items of a row that a thread keeps in registers between the two passes that some losses take. */
const MOST_KEPT = 8;

/** Fields by the name that formulas call them, in the order of their bindings. */
const FIELDS = {
  x: "logProbs",
  old: "oldLogProbs",
  adv: "advantages",
  mask: "mask",
  weight: "weights",
  mark: "marks",
} as const;
type Field = keyof typeof FIELDS;

/** Loss, metrics and d loss / d log-prob, one workgroup a row. @param limit bytes of one binding; for tests. */
export function policyLoss(gpu: Gpu, inputs: Inputs, attrs: PolicyLossAttrs, limit?: number): tf.TensorInfo[] {
  const formula = FORMULAS[attrs.loss];
  const [rows, width] = inputs["logProbs"]!.shape as [number, number];
  const fields = (Object.keys(FIELDS) as Field[]).filter(
    (field) =>
      inputs[FIELDS[field]] !== undefined &&
      (field !== "old" || formula.readsOld) &&
      (field !== "mark" || formula.readsMarks),
  );
  const vector = width % 4 === 0;
  const stride = vector ? width / 4 : width;
  const perLength = attrs.aggregation === "seq-mean-token-mean" && formula.rowLoss === undefined;
  const workgroup = workgroupFor(gpu, stride, formula.rowSums !== undefined);
  const gradient = gpu.allocate([rows, width]);
  const partials = gpu.allocate([rows, 4]);
  const shape = { formula, fields, vector, perLength, workgroup, items: Math.ceil(stride / workgroup) };
  for (const part of rowParts(gpu, rows, width * 4, limit)) {
    gpu.run({
      label: `policy_loss_${attrs.loss}`,
      source: source(shape),
      buffers: [...fields.map((field) => part.slice(inputs[FIELDS[field]]!)), partials, part.slice(gradient)],
      uniforms: [
        ["u32", part.rows],
        ["u32", part.first],
        ["u32", stride],
        ["f32", lossDivisor(attrs, { ofRows: formula.rowLoss !== undefined })],
        ["f32", attrs.low],
        ["f32", attrs.high],
        ["f32", attrs.first],
        ["f32", attrs.second],
      ],
      workgroups: gridOf(gpu, part.rows),
    });
  }
  const totals = [1, 2, 3, 4].map(() => gpu.allocate([]));
  const threads = gpu.workgroupSize(1024);
  gpu.run({
    label: "policy_loss_total",
    source: totalSource(threads),
    buffers: [partials, ...totals],
    uniforms: [
      ["u32", rows],
      ["f32", Math.max(attrs.tokens, 1)],
    ],
    workgroups: [1],
  });
  gpu.release(partials);
  return [...totals, gradient];
}

/** The gradient as it is where the loss's own is 1, as it mostly is: tfjs starts from a 1 that it writes from JavaScript. */
export function policyLossGradient(gpu: Gpu, inputs: Inputs): tf.TensorInfo {
  const { gradient, dLoss } = inputs as { gradient: tf.Tensor; dLoss: tf.Tensor };
  return gpu.hostValues(dLoss)?.[0] === 1 ? tf.clone(gradient) : tf.mul(gradient, dLoss);
}

/**
 * Enough threads for a row, in a few turns: rows are many. What stays in registers between two passes takes room from other workgroups, so
 * that more threads, with less each, are faster then (measured on an H200 with rows of 8,192 tokens).
 */
function workgroupFor(gpu: Gpu, stride: number, keepsMuch: boolean): number {
  const most = keepsMuch ? 512 : 256;
  let size = 64;
  while (size < most && size * 4 < stride) size *= 2;
  return gpu.workgroupSize(size);
}

interface Shape {
  readonly formula: LossFormula;
  readonly fields: readonly Field[];
  readonly vector: boolean;
  /** Tokens are divided by their row's length. */
  readonly perLength: boolean;
  readonly workgroup: number;
  /** Items a thread. */
  readonly items: number;
}

function source({ formula, fields, vector, perLength, workgroup, items }: Shape): string {
  const { rowSums, rowLoss } = formula;
  const weighted = fields.includes("weight");
  const inputs = fields.filter((field) => field !== "mask");
  const read = (field: Field): string => `select(T(0.0), ${field}s[start + at], inside)`;
  const readMask = `let on = ${read("mask")} > T(0.0);`;
  const readInputs = inputs.map((field) => `let ${field} = select(T(0.0), ${read(field)}, on);`).join(" ");
  const logWeight = weighted ? "select(T(0.0), log(weight + T(1e-10)), on)" : "T(0.0)";
  const early = rowSums
    ? `${readMask} ${readInputs} ${rowSums.sums.includes("logWeight") ? `let logWeight = ${logWeight};` : ""} ${rowSums.prelude}`
    : readMask;
  // What the first pass leaves to the second: in registers if there is room, else it is made again.
  const carries: Readonly<Record<string, string>> = rowSums
    ? { ...rowSums.carries, ...(weighted && !rowLoss && { weight: "weight" }) }
    : { live: "flag(on)" };
  const twoPasses = rowSums !== undefined || perLength;
  const keep = twoPasses && items <= MOST_KEPT;
  const turns = Array.from({ length: items }, (_, turn) => turn);
  const each = (of: (name: string, value: string) => string): string =>
    Object.entries(carries)
      .map(([name, value]) => of(name, value))
      .join(" ");
  /** A turn over the row's items, spelled out where something stays in registers. */
  const overRow = (body: (turn: number) => string): string =>
    keep
      ? turns
          .map((turn) => `{ let at = thread + ${turn}u * WORKGROUP; let inside = at < params.stride; ${body(turn)} }`)
          .join("\n")
      : `for (var at = thread; at < params.stride; at += WORKGROUP) { let inside = true; ${body(0)} }`;
  const totals = (values: readonly (string | undefined)[]): string =>
    values.map((value) => (value ? `total(${value})` : "0.0")).join(", ");
  const metrics = rowSums && [rowSums.metrics.first, rowSums.metrics.second, rowSums.metrics.kl];
  const firstPass = twoPasses
    ? `
  var sums = vec4f();
  ${keep ? turns.map((turn) => each((name) => `var ${name}_${turn}: T;`)).join(" ") : ""}
  ${overRow(
    (turn) => `
    ${early}
    sums += vec4f(total(flag(on)), ${totals([0, 1, 2].map((i) => rowSums?.sums[i]))});
    ${metrics ? `results += vec4f(0.0, ${totals(metrics)});` : ""}
    ${keep ? each((name, value) => `${name}_${turn} = ${value};`) : ""}`,
  )}
  let stats = reduced(sums, thread);`
    : "";
  const carried = (turn: number): string =>
    keep
      ? each((name) => `let ${name} = ${name}_${turn};`)
      : `${early} ${each((name, value) => `let ${name} = ${value};`)}`;
  const late = (turn: number): string => {
    if (rowSums) return carried(turn);
    return keep ? `${carried(turn)} let on = live > T(0.0); ${readInputs}` : `${readMask} ${readInputs}`;
  };
  const struct =
    "struct Params { rows: u32, firstRow: u32, stride: u32, divisor: f32, low: f32, high: f32, first: f32, second: f32 }";
  const bindings = [
    ...fields.map((field) => `var<storage, read> ${field}s: array<T>;`),
    "var<storage, read_write> partials: array<vec4f>;",
    "var<storage, read_write> slopes: array<T>;",
    "var<uniform> params: Params;",
  ];
  return `
alias T = ${vector ? "vec4f" : "f32"};
alias B = ${vector ? "vec4<bool>" : "bool"};
${struct}
${bindings.map((binding, i) => `@group(0) @binding(${i}) ${binding}`).join("\n")}
const WORKGROUP = ${workgroup}u;
var<workgroup> shared_sums: array<vec4f, WORKGROUP>;

fn total(v: T) -> f32 { return ${vector ? "dot(v, T(1.0))" : "v"}; }
fn flag(condition: B) -> T { return select(T(0.0), T(1.0), condition); }
fn reduced(sums: vec4f, thread: u32) -> vec4f {
  shared_sums[thread] = sums;
  workgroupBarrier();
  for (var half = WORKGROUP / 2u; half > 0u; half /= 2u) {
    if (thread < half) { shared_sums[thread] += shared_sums[thread + half]; }
    workgroupBarrier();
  }
  let result = shared_sums[0];
  workgroupBarrier();
  return result;
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) thread: u32) {
  let row = ${LINEAR_WORKGROUP};
  if (row >= params.rows) { return; }
  let start = row * params.stride;
  var results = vec4f();
  ${firstPass}
  let share = 1.0 / ${perLength ? "(params.divisor * max(stats.x, 1.0))" : "params.divisor"};
  ${rowLoss ? `let rowLoss = ${rowLoss};` : ""}
  ${overRow(
    (turn) => `
    ${late(turn)}
    var loss = T(0.0); var slope = T(0.0); var first = T(0.0); var second = T(0.0); var kl = T(0.0);
    {${formula.body} }
    ${weighted && !rowLoss ? "loss *= weight; slope *= weight;" : ""}
    // Behind the mask all is 0; a slope of −0 becomes 0.
    if (inside) { slopes[start + at] = select(slope * share, T(0.0), slope == T(0.0)); }
    results += vec4f(${totals(["loss", "first", "second", "kl"])});`,
  )}
  results = reduced(results, thread);
  if (thread == 0u) {
    partials[params.firstRow + row] = vec4f(${rowLoss ? "rowLoss" : "results.x"} * share, results.yzw);
  }
}`;
}

/** WGSL: the rows' partial results, added up. Losses carry their divisors already. */
const totalSource = (threads: number): string => `
struct Params { rows: u32, tokens: f32 }
@group(0) @binding(0) var<storage, read> partials: array<vec4f>;
@group(0) @binding(1) var<storage, read_write> loss: array<f32>;
@group(0) @binding(2) var<storage, read_write> first: array<f32>;
@group(0) @binding(3) var<storage, read_write> second: array<f32>;
@group(0) @binding(4) var<storage, read_write> kl: array<f32>;
@group(0) @binding(5) var<uniform> params: Params;
var<workgroup> shared_sums: array<vec4f, ${threads}>;

@compute @workgroup_size(${threads})
fn main(@builtin(local_invocation_index) thread: u32) {
  var sums = vec4f();
  for (var row = thread; row < params.rows; row += ${threads}u) { sums += partials[row]; }
  shared_sums[thread] = sums;
  workgroupBarrier();
  for (var half = ${threads / 2}u; half > 0u; half /= 2u) {
    if (thread < half) { shared_sums[thread] += shared_sums[thread + half]; }
    workgroupBarrier();
  }
  if (thread == 0u) {
    let result = shared_sums[0];
    loss[0] = result.x;
    first[0] = result.y / params.tokens;
    second[0] = result.z / params.tokens;
    kl[0] = result.w / params.tokens;
  }
}`;
