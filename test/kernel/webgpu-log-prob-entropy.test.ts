import { beforeAll, describe, expect, it } from "@jest/globals";
import * as tf from "@tensorflow/tfjs";
import fc from "fast-check";
import {
  composedLinearLogProbEntropy,
  composedLogProbEntropy,
  createRng,
  linearLogProbEntropy,
  logProbEntropy,
  logProbEntropyGradient,
  type RowDistributions,
  type TokenStatistic,
} from "verl";
import { Gpu } from "../../plugins/kernel/webgpu/dispatch.ts";
import {
  logProbEntropy as kernel,
  logProbEntropyGradient as gradientKernel,
} from "../../plugins/kernel/webgpu/log-prob-entropy.ts";
import { poison, useWebGpu, valuesOf } from "./on-webgpu.ts";
import { relativeError } from "./relative-error.ts";

beforeAll(useWebGpu);

const NAMES: readonly TokenStatistic[] = ["log_probs", "entropy", "log_sum_exp", "sum_pi_squared"];
/** Upstream gradients of the four outputs. */
const SLOPES = [0.7, -1.1, 0.3, 2.5];
const listed = (rows: RowDistributions): tf.Tensor1D[] => NAMES.map((name) => rows[name]);

/** The four numbers of a row and the gradient of their weighted sum, in float64. */
function reference(logits: ArrayLike<number>, target: number, temperature: number) {
  const z = Float64Array.from(logits, (value) => value / temperature);
  const top = z.reduce((a, b) => Math.max(a, b));
  const best = z.indexOf(top);
  // Without the best token, for next to 1 its digits are lost in float64 too.
  const logMass = Math.log1p(z.reduce((sum, value, j) => (j === best ? sum : sum + Math.exp(value - top)), 0));
  const logSumExp = top + logMass;
  let [entropy, square] = [0, 0];
  for (const value of z) {
    const logProb = value - top - logMass;
    const p = Math.exp(logProb);
    if (p > 0) entropy -= p * logProb;
    square += p * p;
  }
  const [a, b, c, d] = SLOPES as [number, number, number, number];
  const gradient = Array.from(z, (value, j) => {
    const logProb = value - top - logMass;
    const p = Math.exp(logProb);
    const inner = p === 0 ? 0 : p * (c - a - b * (logProb + entropy) + 2 * d * (p - square));
    return (inner + (j === target ? a : 0)) / temperature;
  });
  return { outputs: [z[target]! - top - logMass, entropy, logSumExp, square], gradient };
}

const weightedSum = (rows: RowDistributions): tf.Scalar =>
  tf.addN(listed(rows).map((row, i) => tf.sum<tf.Scalar>(tf.mul(row, SLOPES[i]!))));

function matrix(rows: number, columns: number, seed: number, scale: number): Float32Array {
  const rng = createRng(seed);
  return Float32Array.from({ length: rows * columns }, () => scale * rng.normal());
}
const targetsOf = (rows: number, columns: number): Int32Array =>
  Int32Array.from({ length: rows }, (_, row) => (row * 7919) % columns);

async function expectExact(logits: Float32Array, rows: number, temperature: number): Promise<void> {
  const columns = logits.length / rows;
  const targets = targetsOf(rows, columns);
  const [x, ids] = [tf.tensor2d(logits, [rows, columns]), tf.tensor1d(targets, "int32")];
  await poison(rows);
  await poison(rows * columns, 2);
  const got = await valuesOf(listed(logProbEntropy(x, ids, { temperature })));
  const slope = tf.grad((at) => weightedSum(logProbEntropy(at as tf.Tensor2D, ids, { temperature })))(x);
  const [gradient] = await valuesOf([slope]);
  const expected = Array.from({ length: rows }, (_, row) =>
    reference(logits.subarray(row * columns, (row + 1) * columns), targets[row]!, temperature),
  );
  NAMES.forEach((_, k) =>
    expect(
      relativeError(
        got[k]!,
        expected.map(({ outputs }) => outputs[k]!),
      ),
    ).toBeLessThan(1e-5),
  );
  expect(
    relativeError(
      gradient!,
      expected.flatMap((row) => row.gradient),
    ),
  ).toBeLessThan(1e-5);
  tf.dispose([x, ids, slope]);
}

describe("log_prob_entropy", () => {
  it("equals float64 for any number of rows and any vocabulary", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 5 }),
        fc.integer({ min: 1, max: 3_000 }),
        fc.constantFrom(0.1, 1, 10),
        fc.constantFrom(0.5, 1, 1.7),
        fc.nat(),
        (rows, columns, scale, temperature, seed) => expectExact(matrix(rows, columns, seed, scale), rows, temperature),
      ),
      { numRuns: 12, seed: 4 },
    );
  });

  it("does so for logits far apart, far from 0, and for −∞", async () => {
    await expectExact(matrix(3, 500, 1, 300), 3, 1);
    await expectExact(
      matrix(3, 512, 2, 1).map((value) => value + 5_000),
      3,
      1,
    );
    const masked = matrix(2, 300, 3, 2);
    for (let i = 0; i < masked.length; i += 1) if (i % 3 === 1) masked[i] = -Infinity;
    masked[0] = 1;
    masked[300 + (7919 % 300)] = 1;
    await expectExact(masked, 2, 1);
  });

  it("lets rows alone that nothing depends on, NaN or not", async () => {
    const logits = matrix(3, 64, 5, 1);
    logits.fill(NaN, 64, 128);
    const ids = tf.tensor1d([1, 2, 3], "int32");
    const used = tf.tensor1d([1, 0, 1]);
    const gradient = tf.grad((x) =>
      tf.sum<tf.Scalar>(tf.where(tf.greater(used, 0), logProbEntropy(x as tf.Tensor2D, ids).log_probs, 0)),
    )(tf.tensor2d(logits, [3, 64]));
    const [values] = await valuesOf([gradient]);
    expect([...values!.subarray(64, 128)]).toEqual(Array<number>(64).fill(0));
    expect(values!.every(Number.isFinite)).toBe(true);
  });

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
    const slopesOf = expected.flatMap((row) => row.gradient);
    const gotSlopes = slopesOf.map((_, at) => {
      const [row, column] = [Math.floor(at / columns), at % columns];
      return widened(gradient[row * words + (column >> 1)]! >>> (16 * (column & 1)));
    });
    // Float16 has 11 bits.
    expect(relativeError(gotSlopes, slopesOf)).toBeLessThan(1e-3);
  });

  it("equals the composed reference", async () => {
    const inputs = () =>
      [tf.tensor2d(matrix(4, 333, 8, 2), [4, 333]), tf.tensor1d(targetsOf(4, 333), "int32")] as const;
    const got = await valuesOf(listed(logProbEntropy(...inputs(), { temperature: 0.7 })));
    await tf.setBackend("cpu");
    const expected = await valuesOf(listed(composedLogProbEntropy(...inputs(), 0.7)));
    await tf.setBackend("webgpu");
    got.forEach((values, k) => expect(relativeError(values, expected[k]!)).toBeLessThan(1e-5));
  });
});

describe("linear_log_prob_entropy", () => {
  it.each([
    [5, 4, 23, 0],
    [130, 32, 300, 64 * 130],
    [7, 33, 1_001, 7 * 128],
    [140, 64, 515, 1],
  ])(
    "equals the composed reference and its gradients: %i × %i × %i in pieces of %i",
    async (tokens, width, vocabulary, pieceElements) => {
      const options = { temperature: 0.8, ...(pieceElements > 0 && { pieceElements }) };
      const run = async (backend: string, of: typeof linearLogProbEntropy) => {
        await tf.setBackend(backend);
        const hidden = tf.tensor2d(matrix(tokens, width, 1, 0.5), [tokens, width]);
        const weight = tf.tensor2d(matrix(vocabulary, width, 2, 0.5), [vocabulary, width]);
        const ids = tf.tensor1d(targetsOf(tokens, vocabulary), "int32");
        const outputs = of(hidden, weight, ids, NAMES, options);
        const gradients = tf.grads((x, w) => weightedSum(of(x as tf.Tensor2D, w as tf.Tensor2D, ids, NAMES, options)))([
          hidden,
          weight,
        ]);
        return valuesOf([...listed(outputs), ...gradients]);
      };
      await tf.setBackend("webgpu");
      await poison(tokens * width, 2);
      await poison(vocabulary * width, 2);
      const got = await run("webgpu", linearLogProbEntropy);
      const expected = await run("cpu", composedLinearLogProbEntropy);
      await tf.setBackend("webgpu");
      got.forEach((values, k) => expect(relativeError(values, expected[k]!)).toBeLessThan(1e-5));
    },
  );
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
