// Four float32 numbers at a time.

// @ts-ignore: decorator
@inline
export function all(value: f32): v128 {
  return f32x4.splat(value);
}

/** NaN stays NaN. */
// @ts-ignore: decorator
@inline
export function clamp(x: v128, lowest: v128, highest: v128): v128 {
  return f32x4.pmin(f32x4.pmax(x, lowest), highest);
}

/** 1 or −1 by the sign, and 0 for 0. */
// @ts-ignore: decorator
@inline
export function sign(x: v128): v128 {
  const ones = v128.or(v128.and(x, i32x4.splat(0x80000000)), all(1));
  return v128.and(ones, f32x4.ne(x, all(0)));
}

/** The upper two of them, where the lower two stand. */
// @ts-ignore: decorator
@inline
function upper(x: v128): v128 {
  return i8x16.shuffle(x, x, 8, 9, 10, 11, 12, 13, 14, 15, 8, 9, 10, 11, 12, 13, 14, 15);
}

/** Adds them to two float64 sums. */
// @ts-ignore: decorator
@inline
export function plus(sums: v128, x: v128): v128 {
  return f64x2.add(sums, f64x2.add(f64x2.promote_low_f32x4(x), f64x2.promote_low_f32x4(upper(x))));
}

// @ts-ignore: decorator
@inline
export function total(sums: v128): f64 {
  return f64x2.extract_lane(sums, 0) + f64x2.extract_lane(sums, 1);
}

/** Adds to four counts, of the tokens of each place, where a comparison is true. */
// @ts-ignore: decorator
@inline
export function count(counts: v128, where: v128): v128 {
  return i32x4.sub(counts, where);
}

// @ts-ignore: decorator
@inline
export function counted(counts: v128): f64 {
  const lower = i32x4.extract_lane(counts, 0) + i32x4.extract_lane(counts, 1);
  return <f64>(lower + i32x4.extract_lane(counts, 2) + i32x4.extract_lane(counts, 3));
}

// Numbers of the exponentials lie in memory: a load brings one to every place of a register, while a constant of the code is put together
// anew at each use.

// @ts-ignore: decorator
@inline
function single(table: usize, at: usize): v128 {
  return v128.load32_splat(table + (at << 2));
}

// @ts-ignore: decorator
@inline
function double(table: usize, at: usize): v128 {
  return v128.load64_splat(table + (at << 3));
}

const BOUNDS = memory.data<f32>([-87, 88]);
/** 1 / ln 2; what rounds to a whole number when it is added; ln 2 in two parts, of which the first times n is exact. */
const REDUCTION = memory.data<f32>([1.4426950408889634, 12582912, 0.693359375, -2.12194440e-4]);
/** Of r⁰ to r⁷: the polynomial of the Cephes library. */
const POWERS = memory.data<f32>([
  1, 1, 5.0000001201e-1, 1.6666665459e-1, 4.1665795894e-2, 8.3334519073e-3, 1.3981999507e-3, 1.9875691500e-4,
]);

/**
 * e^x to about one unit of the last place; e^−87 below −87, e^88 above 88.
 *
 *     e^x = 2^n · e^r,    n = x / ln 2, rounded by an addition that leaves n in the lower bits;    |r| ≤ ln 2 / 2
 *
 * The polynomial is summed in pairs, not one power after the other: the processor then works at several of its terms at once.
 */
// @ts-ignore: decorator
@inline
export function exp(x: v128): v128 {
  const bounded = clamp(x, single(BOUNDS, 0), single(BOUNDS, 1));
  const shifted = f32x4.add(f32x4.mul(bounded, single(REDUCTION, 0)), single(REDUCTION, 1));
  const n = f32x4.sub(shifted, single(REDUCTION, 1));
  let r = f32x4.sub(bounded, f32x4.mul(n, single(REDUCTION, 2)));
  r = f32x4.sub(r, f32x4.mul(n, single(REDUCTION, 3)));
  const r2 = f32x4.mul(r, r);
  const low = f32x4.add(single(POWERS, 2), f32x4.mul(single(POWERS, 3), r));
  const middle = f32x4.add(single(POWERS, 4), f32x4.mul(single(POWERS, 5), r));
  const high = f32x4.add(single(POWERS, 6), f32x4.mul(single(POWERS, 7), r));
  const rest = f32x4.add(f32x4.add(low, f32x4.mul(middle, r2)), f32x4.mul(high, f32x4.mul(r2, r2)));
  const p = f32x4.add(f32x4.add(single(POWERS, 0), r), f32x4.mul(rest, r2));
  return f32x4.mul(p, i32x4.shl(i32x4.add(shifted, i32x4.splat(127)), 23));
}

/** e^x as the nearest float32, for ratios that are compared with a bound; |x| ≤ 87. Computed in float64, two at a time. */
// @ts-ignore: decorator
@inline
export function nearestExp(x: v128): v128 {
  const low = f32x4.demote_f64x2_zero(expOfTwo(f64x2.promote_low_f32x4(x)));
  const high = f32x4.demote_f64x2_zero(expOfTwo(f64x2.promote_low_f32x4(upper(x))));
  return i8x16.shuffle(low, high, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23);
}

/** As above, of float64. */
const REDUCTION_OF_TWO = memory.data<f64>([1.4426950408889634, 6755399441055744, 0.6931471805599453]);
/** Taylor's series: its rest is below 3e-10. */
const POWERS_OF_TWO = memory.data<f64>([
  1, 1, 0.5, 1.0 / 6, 1.0 / 24, 1.0 / 120, 1.0 / 720, 1.0 / 5040, 1.0 / 40320,
]);

/** As `exp`, in float64. */
// @ts-ignore: decorator
@inline
function expOfTwo(x: v128): v128 {
  const shifted = f64x2.add(f64x2.mul(x, double(REDUCTION_OF_TWO, 0)), double(REDUCTION_OF_TWO, 1));
  const n = f64x2.sub(shifted, double(REDUCTION_OF_TWO, 1));
  const r = f64x2.sub(x, f64x2.mul(n, double(REDUCTION_OF_TWO, 2)));
  const r2 = f64x2.mul(r, r);
  const r4 = f64x2.mul(r2, r2);
  const lowest = f64x2.add(double(POWERS_OF_TWO, 0), r);
  const low = f64x2.add(double(POWERS_OF_TWO, 2), f64x2.mul(double(POWERS_OF_TWO, 3), r));
  const high = f64x2.add(double(POWERS_OF_TWO, 4), f64x2.mul(double(POWERS_OF_TWO, 5), r));
  const highest = f64x2.add(double(POWERS_OF_TWO, 6), f64x2.mul(double(POWERS_OF_TWO, 7), r));
  const upperHalf = f64x2.add(f64x2.add(high, f64x2.mul(highest, r2)), f64x2.mul(double(POWERS_OF_TWO, 8), r4));
  const p = f64x2.add(f64x2.add(lowest, f64x2.mul(low, r2)), f64x2.mul(upperHalf, r4));
  return f64x2.mul(p, i64x2.shl(i64x2.add(shifted, i64x2.splat(1023)), 52));
}
