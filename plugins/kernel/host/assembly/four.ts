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

/**
 * e^x to about one unit of the last place; e^−87 below −87, e^88 above 88.
 *
 *     e^x = 2^n · e^r,    n = x / ln 2, rounded by an addition that leaves n in the lower bits;    |r| ≤ ln 2 / 2
 *
 * The polynomial is that of the Cephes library.
 */
// @ts-ignore: decorator
@inline
export function exp(x: v128): v128 {
  const bounded = clamp(x, all(-87), all(88));
  const shifted = f32x4.add(f32x4.mul(bounded, all(1.4426950408889634)), all(12582912));
  const n = f32x4.sub(shifted, all(12582912));
  // ln 2 in two parts, of which the first times n is exact.
  let r = f32x4.sub(bounded, f32x4.mul(n, all(0.693359375)));
  r = f32x4.add(r, f32x4.mul(n, all(2.12194440e-4)));
  let p = all(1.9875691500e-4);
  p = f32x4.add(f32x4.mul(p, r), all(1.3981999507e-3));
  p = f32x4.add(f32x4.mul(p, r), all(8.3334519073e-3));
  p = f32x4.add(f32x4.mul(p, r), all(4.1665795894e-2));
  p = f32x4.add(f32x4.mul(p, r), all(1.6666665459e-1));
  p = f32x4.add(f32x4.mul(p, r), all(5.0000001201e-1));
  p = f32x4.add(f32x4.mul(p, f32x4.mul(r, r)), f32x4.add(r, all(1)));
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

/** As `exp`, in float64, with Taylor's series: its rest is below 3e-10. */
// @ts-ignore: decorator
@inline
function expOfTwo(x: v128): v128 {
  const shifted = f64x2.add(f64x2.mul(x, f64x2.splat(1.4426950408889634)), f64x2.splat(6755399441055744));
  const n = f64x2.sub(shifted, f64x2.splat(6755399441055744));
  const r = f64x2.sub(x, f64x2.mul(n, f64x2.splat(0.6931471805599453)));
  let p = f64x2.splat(1.0 / 40320);
  p = f64x2.add(f64x2.mul(p, r), f64x2.splat(1.0 / 5040));
  p = f64x2.add(f64x2.mul(p, r), f64x2.splat(1.0 / 720));
  p = f64x2.add(f64x2.mul(p, r), f64x2.splat(1.0 / 120));
  p = f64x2.add(f64x2.mul(p, r), f64x2.splat(1.0 / 24));
  p = f64x2.add(f64x2.mul(p, r), f64x2.splat(1.0 / 6));
  p = f64x2.add(f64x2.mul(p, r), f64x2.splat(0.5));
  p = f64x2.add(f64x2.mul(p, r), f64x2.splat(1));
  p = f64x2.add(f64x2.mul(p, r), f64x2.splat(1));
  return f64x2.mul(p, i64x2.shl(i64x2.add(shifted, i64x2.splat(1023)), 52));
}
