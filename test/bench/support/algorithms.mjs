import { createRng, resolveOptions } from "verl";
import { inPython } from "./python.mjs";

/** The batch of both benches, and of algorithms.py. */
export const [ROWS, WIDTH, GROUP] = [1024, 4096, 8];
export const TOKENS = ROWS * WIDTH;
const REPEATS = 7;

/** Answers of a quarter to the whole of the width, and their mask. */
export function responseMask() {
  const mask = new Float32Array(TOKENS);
  const lengths = Array.from({ length: ROWS }, (_, row) => WIDTH / 4 + ((row * 7919) % ((WIDTH * 3) / 4)));
  lengths.forEach((length, row) => mask.fill(1, row * WIDTH, row * WIDTH + length));
  return { mask, lengths };
}

const rng = createRng(0);

/** Numbers from 0 to 1. */
export const uniform = (count) => Float32Array.from({ length: count }, () => rng.uniform());

/** The actor's section with a loss, its options and verl's defaults. */
export const lossConfig = (key) => ({
  clip_ratio: 0.2,
  clip_ratio_low: null,
  clip_ratio_high: null,
  clip_ratio_c: 3,
  tau_pos: 1,
  tau_neg: 1.05,
  loss_agg_mode: "token-mean",
  policy_loss: { loss_mode: key, ...resolveOptions("policy_loss", key) },
});

/** How long a formula runs before it is measured: a training calls it thousands of times, and V8 compiles what is hot in the first few. */
const WARM_UP_MS = 500;

/** Seconds of the fastest half of the runs, averaged: other work on the machine only ever adds. */
export async function secondsOf(work) {
  for (const start = performance.now(); performance.now() - start < WARM_UP_MS;) await work();
  const samples = [];
  for (let run = 0; run < REPEATS; run++) {
    const begin = performance.now();
    await work();
    samples.push((performance.now() - begin) / 1000);
  }
  const fast = samples.sort((a, b) => a - b).slice(0, Math.ceil(REPEATS / 2));
  return fast.reduce((sum, seconds) => sum + seconds, 0) / fast.length;
}

/** Seconds of each formula in PyTorch, by key; undefined where there is no Python with PyTorch. */
export const pythonSeconds = (kind) => inPython("algorithms.py", [kind, REPEATS]);
