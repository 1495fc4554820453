/**
 * How a kernel walks over a row of logits: in items of one load, each unpacked into parts, which are scalars or vectors of float32.
 * Rows whose items are 16 bytes wide move twice the bytes a second of narrow ones, and any length must work.
 */
export interface LogitsLayout {
  /** WGSL type of an item in the buffer. */
  readonly item: string;
  readonly itemBytes: number;
  /** Logits an item. */
  readonly width: number;
  /** Items a row. */
  readonly stride: number;
  /** WGSL type of a part, and how many parts an item has. */
  readonly part: string;
  readonly parts: number;
  /** Logits a part. */
  readonly lanes: number;
  /**
   * WGSL functions `part0(item) -> part`, …, `pack(part0, …) -> item`, `total(part) -> f32`, `peak(part) -> f32`, `element(item, lane) -> f32`
   * and `bump(part, lane, by) -> part`.
   */
  readonly functions: string;
}

const VECTOR = `
fn total(v: vec4f) -> f32 { return dot(v, vec4f(1.0)); }
fn peak(v: vec4f) -> f32 { return max(max(v.x, v.y), max(v.z, v.w)); }
fn bump(v: vec4f, lane: u32, by: f32) -> vec4f { var raised = v; raised[lane] += by; return raised; }`;

/** @param columns logits a row. */
export function logitsLayout(columns: number, half: boolean): LogitsLayout {
  const words = half ? Math.ceil(columns / 2) : columns;
  const wide = words % 4 === 0;
  const shared = { stride: wide ? words / 4 : words, itemBytes: wide ? 16 : 4, width: (half ? 2 : 1) * (wide ? 4 : 1) };
  if (!half && wide) {
    const functions = `
fn part0(i: vec4f) -> vec4f { return i; }
fn pack(a: vec4f) -> vec4f { return a; }
fn element(i: vec4f, lane: u32) -> f32 { return i[lane]; }${VECTOR}`;
    return { ...shared, item: "vec4f", part: "vec4f", parts: 1, lanes: 4, functions };
  }
  if (!half) {
    const functions = `
fn part0(i: f32) -> f32 { return i; }
fn pack(a: f32) -> f32 { return a; }
fn total(v: f32) -> f32 { return v; }
fn peak(v: f32) -> f32 { return v; }
fn element(i: f32, lane: u32) -> f32 { return i; }
fn bump(v: f32, lane: u32, by: f32) -> f32 { return v + by; }`;
    return { ...shared, item: "f32", part: "f32", parts: 1, lanes: 1, functions };
  }
  if (wide) {
    const functions = `
fn part0(i: vec4u) -> vec4f { return vec4f(unpack2x16float(i.x), unpack2x16float(i.y)); }
fn part1(i: vec4u) -> vec4f { return vec4f(unpack2x16float(i.z), unpack2x16float(i.w)); }
fn pack(a: vec4f, b: vec4f) -> vec4u {
  return vec4u(pack2x16float(a.xy), pack2x16float(a.zw), pack2x16float(b.xy), pack2x16float(b.zw));
}
fn element(i: vec4u, lane: u32) -> f32 { return unpack2x16float(i[lane / 2u])[lane % 2u]; }${VECTOR}`;
    return { ...shared, item: "vec4u", part: "vec4f", parts: 2, lanes: 4, functions };
  }
  const functions = `
fn part0(i: u32) -> vec2f { return unpack2x16float(i); }
fn pack(a: vec2f) -> u32 { return pack2x16float(a); }
fn total(v: vec2f) -> f32 { return v.x + v.y; }
fn peak(v: vec2f) -> f32 { return max(v.x, v.y); }
fn element(i: u32, lane: u32) -> f32 { return unpack2x16float(i)[lane]; }
fn bump(v: vec2f, lane: u32, by: f32) -> vec2f { var raised = v; raised[lane] += by; return raised; }`;
  return { ...shared, item: "u32", part: "vec2f", parts: 1, lanes: 2, functions };
}

/** True when a row's last item has a lane too many. */
export const hasSpareLane = ({ width, stride }: LogitsLayout, columns: number): boolean => width * stride > columns;
