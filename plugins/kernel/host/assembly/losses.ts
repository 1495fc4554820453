// Each loss over a row of tokens: its value and metrics are added to the sums, its slopes written. They are the losses of
// plugins/policy-loss, with the slopes of tfjs' operations also where a loss has a kink.

import { all, clamp, count, counted, exp, nearestExp, plus, sign, total } from "./four";
import { add, FIRST, KL, LOSS, SECOND } from "./memory";
import { ADV, MARKS, OLD, shareAt, SLOPES, WEIGHTS, X } from "./memory";
import { ceiling, first, floor, high, low, second } from "./memory";

export { configure, reserve, sumAt } from "./memory";

/** Keeps the logarithm of a weight of 0 finite. */
const WEIGHT_EPSILON: f64 = 1e-10;

// @ts-ignore: decorator
@inline
function zeros(): v128 {
  return i64x2.splat(0);
}

// @ts-ignore: decorator
@inline
function bytes(tokens: i32): usize {
  return <usize>tokens << 2;
}

/** log π_θ − log π_old. */
// @ts-ignore: decorator
@inline
function deltaAt(at: usize): v128 {
  return f32x4.sub(v128.load(X + at), v128.load(OLD + at));
}

/** Where a clamp of log-ratios lets slopes through. */
// @ts-ignore: decorator
@inline
function within(delta: v128, bound: f32): v128 {
  return f32x4.le(f32x4.abs(delta), all(bound));
}

export function vanilla(tokens: i32, share: f64, weighted: bool): void {
  const each = all(<f32>share);
  let loss = zeros();
  let kl = zeros();
  let clips = zeros();
  let bounds = zeros();
  for (let at: usize = 0; at < bytes(tokens); at += 16) {
    const delta = deltaAt(at);
    const logRatio = clamp(delta, all(-20), all(20));
    const ratio = nearestExp(logRatio);
    const gain = f32x4.neg(v128.load(ADV + at));
    const plain = f32x4.mul(gain, ratio);
    const clipped = f32x4.mul(gain, clamp(ratio, all(floor), all(ceiling)));
    const isClipped = f32x4.gt(clipped, plain);
    const worse = v128.bitselect(clipped, plain, isClipped);
    const most = f32x4.mul(gain, all(first));
    const isBound = v128.and(f32x4.gt(gain, all(0)), f32x4.gt(worse, most));
    const shares = shareAt(at, each, weighted);
    const slope = v128.andnot(v128.and(plain, within(delta, 20)), v128.or(isClipped, isBound));
    v128.store(SLOPES + at, f32x4.mul(slope, shares));
    loss = plus(loss, f32x4.mul(v128.bitselect(most, worse, isBound), shares));
    kl = plus(kl, f32x4.neg(logRatio));
    clips = count(clips, isClipped);
    bounds = count(bounds, isBound);
  }
  add(LOSS, total(loss));
  add(KL, total(kl));
  add(FIRST, counted(clips));
  add(SECOND, counted(bounds));
}

export function cispo(tokens: i32, share: f64, weighted: bool): void {
  const each = all(<f32>share);
  let loss = zeros();
  let kl = zeros();
  let clips = zeros();
  for (let at: usize = 0; at < bytes(tokens); at += 16) {
    const logRatio = clamp(deltaAt(at), all(-20), all(20));
    const ratio = nearestExp(logRatio);
    const clipped = clamp(ratio, all(floor), all(ceiling));
    const gain = f32x4.neg(v128.load(ADV + at));
    const slope = f32x4.mul(f32x4.mul(clipped, gain), shareAt(at, each, weighted));
    v128.store(SLOPES + at, slope);
    loss = plus(loss, f32x4.mul(slope, v128.load(X + at)));
    kl = plus(kl, f32x4.neg(logRatio));
    clips = count(clips, f32x4.ne(clipped, ratio));
  }
  add(LOSS, total(loss));
  add(KL, total(kl));
  add(FIRST, counted(clips));
}

export function gpg(tokens: i32, share: f64, weighted: bool): void {
  const each = all(<f32>share);
  let loss = zeros();
  for (let at: usize = 0; at < bytes(tokens); at += 16) {
    const slope = f32x4.neg(f32x4.mul(v128.load(ADV + at), shareAt(at, each, weighted)));
    v128.store(SLOPES + at, slope);
    loss = plus(loss, f32x4.mul(slope, v128.load(X + at)));
  }
  add(LOSS, total(loss));
}

export function reinforce(tokens: i32, share: f64, weighted: bool): void {
  gpg(tokens, share, weighted);
  add(KL, lessThanOld(tokens));
}

/** Σ (log π_old − log π_θ). */
function lessThanOld(tokens: i32): f64 {
  let sum = zeros();
  for (let at: usize = 0; at < bytes(tokens); at += 16) sum = plus(sum, f32x4.neg(deltaAt(at)));
  return total(sum);
}

export function sapo(tokens: i32, share: f64, weighted: bool): void {
  const each = all(<f32>share);
  let loss = zeros();
  let kl = zeros();
  for (let at: usize = 0; at < bytes(tokens); at += 16) {
    const delta = deltaAt(at);
    const logRatio = clamp(delta, all(-20), all(20));
    const ratio = exp(logRatio);
    const adv = v128.load(ADV + at);
    const tau = v128.bitselect(all(first), all(second), f32x4.gt(adv, all(0)));
    const gate = f32x4.div(all(1), f32x4.add(all(1), exp(f32x4.mul(tau, f32x4.sub(all(1), ratio)))));
    const gain = f32x4.mul(f32x4.mul(f32x4.mul(all(-4), adv), gate), shareAt(at, each, weighted));
    const slope = f32x4.mul(f32x4.mul(gain, f32x4.sub(all(1), gate)), ratio);
    v128.store(SLOPES + at, v128.and(slope, within(delta, 20)));
    loss = plus(loss, f32x4.div(gain, tau));
    kl = plus(kl, f32x4.neg(logRatio));
  }
  add(LOSS, total(loss));
  add(KL, total(kl));
}

export function clip_cov(tokens: i32, share: f64, weighted: bool): void {
  const each = all(<f32>share);
  let loss = zeros();
  let kl = zeros();
  let cuts = zeros();
  for (let at: usize = 0; at < bytes(tokens); at += 16) {
    const delta = deltaAt(at);
    const logRatio = clamp(delta, all(-70), all(70));
    const ratio = nearestExp(logRatio);
    const marks = v128.load(MARKS + at);
    const gain = f32x4.mul(v128.load(ADV + at), f32x4.sub(marks, all(1)));
    const plain = f32x4.mul(gain, ratio);
    const clipped = f32x4.mul(gain, clamp(ratio, all(floor), all(ceiling)));
    const isClipped = f32x4.gt(clipped, plain);
    const shares = shareAt(at, each, weighted);
    const slope = v128.andnot(v128.and(plain, within(delta, 70)), isClipped);
    v128.store(SLOPES + at, f32x4.mul(slope, shares));
    loss = plus(loss, f32x4.mul(v128.bitselect(clipped, plain, isClipped), shares));
    kl = plus(kl, f32x4.neg(logRatio));
    cuts = count(cuts, f32x4.gt(marks, all(0)));
  }
  add(LOSS, total(loss));
  add(KL, total(kl));
  add(FIRST, counted(cuts));
}

export function kl_cov(tokens: i32, share: f64, weighted: bool): void {
  const each = all(<f32>share);
  let loss = zeros();
  let distances = zeros();
  for (let at: usize = 0; at < bytes(tokens); at += 16) {
    const delta = deltaAt(at);
    const logRatio = clamp(delta, all(-70), all(70));
    const gain = f32x4.mul(v128.load(ADV + at), exp(logRatio));
    const price = f32x4.mul(v128.load(MARKS + at), all(first));
    const distance = f32x4.abs(logRatio);
    const shares = shareAt(at, each, weighted);
    const slope = f32x4.mul(f32x4.sub(f32x4.mul(sign(logRatio), price), gain), shares);
    v128.store(SLOPES + at, v128.and(slope, within(delta, 70)));
    loss = plus(loss, f32x4.mul(f32x4.sub(f32x4.mul(distance, price), gain), shares));
    distances = plus(distances, distance);
  }
  add(LOSS, total(loss));
  add(KL, total(distances));
}

export function gspo(tokens: i32, share: f64, weighted: bool): void {
  const each = all(<f32>share);
  const kl = lessThanOld(tokens);
  const mean = <f32>(-kl / <f64>tokens);
  const ratio = <f32>Math.exp(mean < 10 ? mean : mean >= 10 ? 10 : mean);
  const clippedRatio = max(min(ratio, ceiling), floor);
  const moves = all(mean >= 10 ? 0 : 1);
  let loss = zeros();
  let clips = zeros();
  for (let at: usize = 0; at < bytes(tokens); at += 16) {
    const gain = f32x4.neg(v128.load(ADV + at));
    const plain = f32x4.mul(gain, all(ratio));
    const clipped = f32x4.mul(gain, all(clippedRatio));
    const isClipped = f32x4.gt(clipped, plain);
    const shares = shareAt(at, each, weighted);
    const slope = v128.andnot(f32x4.mul(plain, moves), isClipped);
    v128.store(SLOPES + at, f32x4.mul(slope, shares));
    loss = plus(loss, f32x4.mul(v128.bitselect(clipped, plain, isClipped), shares));
    clips = count(clips, isClipped);
  }
  add(LOSS, total(loss));
  add(KL, kl);
  add(FIRST, counted(clips));
}

/** A mean over rows: `share` is the row's, and a token's importance weight changes the row's ratio. */
export function geo_mean(tokens: i32, share: f64, weighted: bool): void {
  let gains = zeros();
  let kept = zeros();
  let kl = zeros();
  let goodOutside = zeros();
  let badOutside = zeros();
  for (let at: usize = 0; at < bytes(tokens); at += 16) {
    const logRatio = clamp(deltaAt(at), all(-70), all(70));
    const adv = v128.load(ADV + at);
    const isGood = f32x4.gt(adv, all(0));
    const isBad = f32x4.lt(adv, all(0));
    const isHigh = f32x4.gt(logRatio, all(high));
    const isLow = f32x4.lt(logRatio, all(-low));
    const kindly = v128.and(v128.bitselect(all(high), logRatio, isHigh), isGood);
    const sternly = v128.and(v128.bitselect(all(-low), logRatio, isLow), isBad);
    gains = plus(gains, adv);
    kept = plus(kept, v128.or(kindly, sternly));
    kl = plus(kl, f32x4.neg(logRatio));
    goodOutside = count(goodOutside, v128.and(v128.or(isHigh, isLow), isGood));
    badOutside = count(badOutside, v128.and(v128.or(isHigh, isLow), isBad));
  }
  const length = <f64>tokens;
  const exponent = (total(kept) + (weighted ? logWeights(tokens) : 0)) / length;
  const loss = -(total(gains) / length) * Math.exp(exponent) * share;
  const slope = all(<f32>(loss / length));
  for (let at: usize = 0; at < bytes(tokens); at += 16) {
    const delta = deltaAt(at);
    const adv = v128.load(ADV + at);
    const good = v128.and(v128.and(f32x4.le(delta, all(high)), f32x4.ge(delta, all(-70))), f32x4.gt(adv, all(0)));
    const bad = v128.and(v128.and(f32x4.ge(delta, all(-low)), f32x4.le(delta, all(70))), f32x4.lt(adv, all(0)));
    v128.store(SLOPES + at, v128.and(slope, v128.or(good, bad)));
  }
  add(LOSS, loss);
  add(KL, total(kl));
  add(FIRST, counted(goodOutside));
  add(SECOND, counted(badOutside));
}

function logWeights(tokens: i32): f64 {
  let sum: f64 = 0;
  for (let at: usize = 0; at < bytes(tokens); at += 4) sum += Math.log(<f64>load<f32>(WEIGHTS + at) + WEIGHT_EPSILON);
  return sum;
}
