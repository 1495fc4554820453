// What the host writes before a call and reads after it. Each field is a row's tokens, packed: those of the mask, one after the other, and
// zeros up to a multiple of four, which change no sum. They follow one another in the order below, `stride` bytes apart.

/** log π_θ. */
export let X: usize = 0;
/** log π_old. */
export let OLD: usize = 0;
export let ADV: usize = 0;
/** 1 for tokens that the loss treats in its own way. */
export let MARKS: usize = 0;
/** Importance weights, where there are any. */
export let WEIGHTS: usize = 0;
/** d loss / d x, which the loss writes. */
export let SLOPES: usize = 0;

/** How far a log-ratio may go below and above 0, where the range is one of log-ratios. */
export let low: f32 = 0;
export let high: f32 = 0;
/** 1 − ε_low and 1 + ε_high, where it is one of ratios. */
export let floor: f32 = 0;
export let ceiling: f32 = 0;
/** Numbers of the loss's own. */
export let first: f32 = 0;
export let second: f32 = 0;

/** The loss and the sums of its metrics so far, by the numbers below. */
const SUMS = memory.data(32, 8);

/** Numbers of the sums: the loss, two counts, and the sum for the approximate KL divergence. */
export const LOSS: i32 = 0;
export const FIRST: i32 = 1;
export const SECOND: i32 = 2;
export const KL: i32 = 3;

export function sumAt(number: i32): f64 {
  return load<f64>(SUMS + (<usize>number << 3));
}

export function add(number: i32, value: f64): void {
  store<f64>(SUMS + (<usize>number << 3), sumAt(number) + value);
}

/** Makes room for rows of so many tokens and sets the sums to 0. @returns where the first field lies. */
export function reserve(width: i32): usize {
  const stride = ((<usize>width + 3) & ~3) << 2;
  X = (__heap_base + 15) & ~15;
  OLD = X + stride;
  ADV = OLD + stride;
  MARKS = ADV + stride;
  WEIGHTS = MARKS + stride;
  SLOPES = WEIGHTS + stride;
  const pages = <i32>((SLOPES + stride + 0xffff) >>> 16);
  if (pages > memory.size()) memory.grow(pages - memory.size());
  memory.fill(SUMS, 0, 32);
  return X;
}

export function configure(lowest: f32, highest: f32, least: f32, most: f32, one: f32, other: f32): void {
  low = lowest;
  high = highest;
  floor = least;
  ceiling = most;
  first = one;
  second = other;
}

/** What each of four tokens counts in the loss: `each`, times its importance weight where there is one. */
// @ts-ignore: decorator
@inline
export function shareAt(at: usize, each: v128, weighted: bool): v128 {
  return weighted ? f32x4.mul(v128.load(WEIGHTS + at), each) : each;
}
