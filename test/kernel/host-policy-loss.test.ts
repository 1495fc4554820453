import { describe, expect, it } from "@jest/globals";
import * as tf from "@tensorflow/tfjs";
import { countDenominators, NdArray } from "verl";
import { actor } from "../algorithm/policy-loss-cases.ts";
import { HOST_BACKENDS, ort } from "./on-host.ts";
import { batch, LOSSES, run, testPolicyLossKernel, type Fields } from "./policy-loss-cases.ts";
import { relativeError } from "./relative-error.ts";

describe.each(HOST_BACKENDS)("on %s", (backend) => {
  testPolicyLossKernel({ backend, tolerance: 1e-6 });

  it.each(LOSSES)("%s has the composed loss's slopes at its kinks", async (key) => {
    for (const range of [0, 0.2, BOUND]) {
      const fields = kinks(range);
      const config = actor(key, { clip_ratio: range });
      const denominators = countDenominators(fields["response_mask"]!, null);
      const got = await run(backend, fields, config, denominators);
      const expected = await run("cpu", fields, config, denominators);
      expect(expected.gradient.some((slope) => slope !== 0)).toBe(true);
      expected.gradient.forEach((slope, i) => {
        expect(Math.abs(got.gradient[i]! - slope)).toBeLessThanOrEqual(1e-6 * Math.abs(slope));
      });
    }
  });
});

/** A range whose upper end a ratio meets exactly, and which float32 holds. */
const BOUND = Math.fround(Math.exp(0.25)) - 1;

/** Every log-ratio at which a loss may have a kink, for good, bad and indifferent tokens, marked and not: a row each. */
function kinks(range: number): Fields {
  const edges = [0, 20, 70, range, 0.25, Math.log(1 + range), Math.log(3)];
  const deltas = edges.flatMap((edge) => [edge, -edge, edge * 1.0001, -edge * 1.0001]);
  const kinds = [1, -1, 0].flatMap((advantage) => [0, 1].map((mark) => ({ advantage, mark })));
  const tokens = kinds.flatMap((kind) => deltas.map((delta) => ({ ...kind, delta })));
  const field = (of: (token: (typeof tokens)[number]) => number): NdArray<"float32"> =>
    new NdArray("float32", [kinds.length, deltas.length], Float32Array.from(tokens, of));
  return {
    log_probs: field(({ delta }) => delta),
    old_log_probs: field(() => 0),
    advantages: field(({ advantage }) => advantage),
    response_mask: field(() => 1),
    clip_cov_tokens: field(({ mark }) => mark),
    kl_cov_tokens: field(({ mark }) => mark),
  };
}

describe("a recorded graph on ort", () => {
  it.each(LOSSES)("is not cut by %s, and gives the kernel's numbers", async (key) => {
    const fields = batch(6, 40, 2);
    const config = actor(key);
    const denominators = countDenominators(fields["response_mask"]!, null);
    const before = ort.stats.runs;
    const kernel = await run("ort", fields, config, denominators);
    expect(ort.stats.runs - before).toBe(0);
    const composed = await run("ort", fields, config, denominators, 1, (logProbs) => tf.add(logProbs, 0));
    expect(ort.stats.runs - before).toBe(1);
    expect(composed.loss).toBeCloseTo(kernel.loss, 5);
    expect(relativeError(composed.gradient, kernel.gradient)).toBeLessThan(1e-5);
  });
});
