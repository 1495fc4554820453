import { beforeAll, describe, expect, it } from "@jest/globals";
import * as tf from "@tensorflow/tfjs";
import { logProbEntropy, logProbEntropyGradient, type RowDistributions } from "verl";
import { Gpu } from "../../plugins/kernel/webgpu/dispatch.ts";
import {
  logProbEntropy as kernel,
  logProbEntropyGradient as gradientKernel,
} from "../../plugins/kernel/webgpu/log-prob-entropy.ts";
import { testLinearLogProbEntropy } from "./linear-log-prob-entropy-cases.ts";
import { testLogProbEntropy } from "./log-prob-entropy-cases.ts";
import { poison, useWebGpu } from "./on-webgpu.ts";
import { relativeError } from "./relative-error.ts";
import { listed, matrix, NAMES, reference, SLOPES, targetsOf } from "./row-reference.ts";
import { valuesOf } from "./values-of.ts";

beforeAll(useWebGpu);

// Slopes are differences of float32 numbers near the upstream one.
testLogProbEntropy({ backend: "webgpu", tolerance: 1e-5, rounding: 2e-7, poison });
testLinearLogProbEntropy({ backend: "webgpu", tolerance: 1e-5, poison });

describe("log_prob_entropy in WGSL", () => {
  beforeAll(() => tf.setBackend("webgpu"));

  it("splits rows that one binding does not hold", async () => {
    const [rows, columns] = [300, 48];
    const inputs = {
      logits: tf.tensor2d(matrix(rows, columns, 6, 3), [rows, columns]),
      targets: tf.tensor1d(targetsOf(rows, columns), "int32"),
    };
    const attrs = { temperature: 1, columns, half: false };
    const gpu = new Gpu(tf.backend());
    // Room for 64 rows, and 44 in the last part.
    const tensor = (info: tf.TensorInfo) => tf.engine().makeTensorFromTensorInfo(info);
    const parts = kernel(gpu, inputs, attrs, 64 * columns * 4).map(tensor);
    const whole = kernel(gpu, inputs, attrs).map(tensor);
    expect(await valuesOf(parts)).toEqual(await valuesOf(whole));
    const [, entropy, logSumExp, sumPiSquared, normaliser] = whole as [
      tf.Tensor,
      tf.Tensor,
      tf.Tensor,
      tf.Tensor,
      tf.Tensor,
    ];
    const d = { dLogProb: entropy, dEntropy: logSumExp, dLogSumExp: entropy, dSumPiSquared: logSumExp };
    const saved = { ...inputs, entropy, normaliser, sumPiSquared, ...d };
    const gradients = [64 * columns * 4, undefined].map((limit) => tensor(gradientKernel(gpu, saved, attrs, limit)));
    const [split, once] = await valuesOf(gradients);
    expect(split).toEqual(once);
  });

  it.each([64, 63, 34, 31, 1])("reads and writes float16, %i columns", async (columns) => {
    const rows = 3;
    const words = Math.ceil(columns / 2);
    const bits = Int32Array.from(
      { length: rows * words },
      (_, i) => half(Math.sin(i) * 4) | (half(Math.cos(i) * 4) << 16),
    );
    const logits = Float32Array.from({ length: rows * columns }, (_, at) => {
      const [row, column] = [Math.floor(at / columns), at % columns];
      return widened(bits[row * words + (column >> 1)]! >>> (16 * (column & 1)));
    });
    const targets = targetsOf(rows, columns);
    const ids = tf.tensor1d(targets, "int32");
    const matrixOfHalves = { halves: tf.tensor2d(bits, [rows, words], "int32"), columns };
    const outputs = logProbEntropy(matrixOfHalves, ids);
    const ones = (value: number) => tf.fill<tf.Rank.R1>([rows], value);
    const [log_probs, entropy, log_sum_exp, sum_pi_squared] = SLOPES.map(ones);
    const slopes = { log_probs, entropy, log_sum_exp, sum_pi_squared } as RowDistributions;
    const gradient = await logProbEntropyGradient(matrixOfHalves, ids, outputs, slopes).halves.data<"int32">();
    const got = await valuesOf(listed(outputs));
    const expected = Array.from({ length: rows }, (_, row) =>
      reference(logits.subarray(row * columns, (row + 1) * columns), targets[row]!, 1),
    );
    NAMES.forEach((_, k) =>
      expect(
        relativeError(
          got[k]!,
          expected.map(({ outputs }) => outputs[k]!),
        ),
      ).toBeLessThan(1e-5),
    );
    const slopesOf = expected.flatMap((row) => [...row.gradient]);
    const gotSlopes = slopesOf.map((_, at) => {
      const [row, column] = [Math.floor(at / columns), at % columns];
      return widened(gradient[row * words + (column >> 1)]! >>> (16 * (column & 1)));
    });
    // Float16 has 11 bits.
    expect(relativeError(gotSlopes, slopesOf)).toBeLessThan(1e-3);
  });
});

/** Bits of the float16 nearest to a number in ±[2⁻¹⁴, 65504], cut. */
function half(value: number): number {
  const bits = new Uint32Array(Float32Array.of(value).buffer)[0]!;
  const exponent = ((bits >>> 23) & 255) - 112;
  return exponent <= 0 ? 0 : ((bits >>> 16) & 0x8000) | (exponent << 10) | ((bits >>> 13) & 1023);
}

/** The number that the lower 16 bits are in float16. */
function widened(bits: number): number {
  const [sign, exponent, fraction] = [bits & 0x8000 ? -1 : 1, (bits >>> 10) & 31, bits & 1023];
  return sign * (exponent === 0 ? fraction * 2 ** -24 : (1024 + fraction) * 2 ** (exponent - 25));
}
