import * as tf from "@tensorflow/tfjs";
import { VerlError } from "../../errors/index.ts";
import { callKernel, ensureGradient, hasKernel } from "./call.ts";
import { requireShape } from "./require-shape.ts";

/**
 * Kernel: inputs `logits`, `targets`; attributes `LogProbAttrs`; outputs log-prob, entropy, log-sum-exp and
 * Σπ², each [rows], and the normaliser, [rows, 2 or 3]: the largest logit, not over the temperature, the log of Σ e^(z − largest z), which
 * their sum would round, and what else the same backend's gradient reads of the row.
 */
export const LOG_PROB_ENTROPY = "LogProbEntropy";
/**
 * Kernel: inputs those of `LogProbEntropy`, its outputs (`entropy`, `normaliser`, `sumPiSquared`) and the outputs' gradients (`dLogProb`,
 * `dEntropy`, `dLogSumExp`, `dSumPiSquared`); the same attributes; output: the gradient of the logits, of their shape and type.
 */
export const LOG_PROB_ENTROPY_GRADIENT = "LogProbEntropyGradient";

/** Float16 numbers, of which tfjs has no dtype: two an int32, the first in the lower half. Rows of odd length end with an unused half. */
export interface HalfMatrix {
  /** int32 [rows, ⌈columns / 2⌉]. */
  readonly halves: tf.Tensor2D;
  readonly columns: number;
}

export interface LogProbAttrs extends tf.NamedAttrMap {
  /** Logits are divided by it. */
  temperature: number;
  /** Logits a row. */
  columns: number;
  /** Logits are two float16 an int32. */
  half: boolean;
}

/** What is known of each row's distribution, [rows] each. */
export interface RowDistributions {
  /** log π of the target. */
  log_probs: tf.Tensor1D;
  entropy: tf.Tensor1D;
  log_sum_exp: tf.Tensor1D;
  /** Σ π². */
  sum_pi_squared: tf.Tensor1D;
}

/**
 * Log-prob of each row's target, entropy, log-sum-exp and Σπ² of softmax(logits / temperature), differentiable in float32 logits.
 *
 * With a kernel logits are read once; the backward pass reads them once more and writes their gradient. Where the backend has none, or none
 * for tensors that are not computed yet, it is composed of tfjs' operations.
 * @param logits [rows, vocabulary], float32 tensor or float16 halves.
 * @param targets int32 [rows], in [0, vocabulary).
 * @throws VERL_TENSOR_SHAPE; VERL_TENSOR_DTYPE for float16 where no kernel reads it.
 */
export function logProbEntropy(
  logits: tf.Tensor2D | HalfMatrix,
  targets: tf.Tensor1D,
  { temperature = 1 }: { temperature?: number } = {},
): RowDistributions {
  const half = "halves" in logits;
  const inputs = { logits: half ? logits.halves : logits, targets };
  requireShape("targets", targets, inputs.logits.shape.slice(0, 1));
  if (hasKernel(LOG_PROB_ENTROPY, inputs)) {
    ensureGradient(gradient);
    const attrs: LogProbAttrs = { temperature, columns: half ? logits.columns : logits.shape[1], half };
    return named(callKernel(LOG_PROB_ENTROPY, inputs, attrs));
  }
  if (half) throw noFloat16();
  return composedLogProbEntropy(logits, targets, temperature);
}

/**
 * The gradient of float16 logits, as float16. tfjs differentiates float32 only, so that it is asked for by hand.
 * @throws VERL_TENSOR_DTYPE where no kernel reads float16.
 */
export function logProbEntropyGradient(
  logits: HalfMatrix,
  targets: tf.Tensor1D,
  outputs: RowDistributions,
  dOutputs: RowDistributions,
  { temperature = 1 }: { temperature?: number } = {},
): HalfMatrix {
  const { columns, halves } = logits;
  const attrs: LogProbAttrs = { temperature, columns, half: true };
  const { entropy, log_sum_exp, sum_pi_squared } = outputs;
  const normaliser = tf.stack([tf.mul(log_sum_exp, temperature), tf.zerosLike(log_sum_exp)], 1);
  const inputs = gradientInputs(halves, targets, [entropy, sum_pi_squared, normaliser], listed(dOutputs));
  if (!hasKernel(LOG_PROB_ENTROPY_GRADIENT, inputs)) throw noFloat16();
  return { halves: callKernel(LOG_PROB_ENTROPY_GRADIENT, inputs, attrs)[0] as tf.Tensor2D, columns };
}

const noFloat16 = (): VerlError =>
  new VerlError("VERL_TENSOR_DTYPE", `The tensor backend "${tf.getBackend()}" has no kernel for float16 logits.`, {
    hint: "Widen them to float32, or use a backend that has one: webgpu.",
  });

/** The same by tfjs' operations, each of which reads and writes the whole matrix. */
export function composedLogProbEntropy(
  logits: tf.Tensor2D,
  targets: tf.Tensor1D,
  temperature: number,
): RowDistributions {
  const op = tf.customGrad((...inputs) => {
    const [z, save] = inputs as [tf.Tensor, (tensors: tf.Tensor[]) => void];
    const row = composedRows(z, targets, temperature);
    const { logProb, entropy, logSumExp, square, logMass, spread } = row;
    save([z, targets, entropy, square, logMass, spread]);
    const value = tf.concat([logProb, entropy, logSumExp, square], 1);
    return { value, gradFunc: (dy, saved) => composedGradient(dy, saved as SavedRows, temperature) };
  });
  return named(tf.unstack(op(logits), 1));
}

/** Below it a probability is 0 in float32, and −∞ times 0 must not be NaN. */
const SMALLEST_LOG = -100;

/**
 * Columns of numbers a row. Logits count from the largest, z, so that large ones do not round; those equal to it are counted apart, so that
 * neither log Σ e^(z_j − z) nor 1 − Σπ² (`spread`) loses its digits where almost all is one token's.
 */
function composedRows(logits: tf.Tensor, targets: tf.Tensor, temperature: number) {
  const top = tf.max(logits, 1, true);
  const d = tf.maximum(tf.mul(tf.sub(logits, top), 1 / temperature), SMALLEST_LOG);
  const isTop = tf.equal(d, 0);
  const e = tf.where(isTop, 0, tf.exp(d));
  const [ones, rest, squares] = [rowSum(tf.cast(isTop, "float32")), rowSum(e), rowSum(tf.square(e))];
  const mass = tf.add(ones, rest);
  const logMass = tf.add(tf.log(ones), tf.log1p(tf.div(rest, ones)));
  const overSquare = (x: tf.Tensor): tf.Tensor => tf.div(x, tf.square(mass));
  const pairs = tf.add(tf.mul(ones, tf.sub(ones, 1)), tf.mul(rest, tf.add(mass, ones)));
  return {
    logProb: tf.sub(tf.mul(tf.sub(chosenOf(logits, targets), top), 1 / temperature), logMass),
    entropy: tf.sub(logMass, tf.div(rowSum(tf.mul(d, e)), mass)),
    logSumExp: tf.add(tf.mul(top, 1 / temperature), logMass),
    square: overSquare(tf.add(ones, squares)),
    spread: overSquare(tf.sub(pairs, squares)),
    logMass,
  };
}

/** Elements that are added up by themselves first: float32 loses digits where a long sum adds small numbers to a large one. */
const BLOCK = 128;

function rowSum(x: tf.Tensor): tf.Tensor {
  const [rows, columns] = x.shape as [number, number];
  if (columns < BLOCK * BLOCK) return tf.sum(x, 1, true);
  const rest = columns % BLOCK;
  const [whole, tail] = rest === 0 ? [x, undefined] : tf.split(x, [columns - rest, rest], 1);
  const sums = tf.sum(tf.reshape(whole, [rows, -1, BLOCK]), 2);
  return tf.sum(tail ? tf.concat([sums, tail], 1) : sums, 1, true);
}

const chosenOf = (matrix: tf.Tensor, targets: tf.Tensor): tf.Tensor =>
  tf.gather(matrix, tf.reshape(targets, [-1, 1]), 1, 1);

type SavedRows = [
  logits: tf.Tensor,
  targets: tf.Tensor,
  entropy: tf.Tensor,
  square: tf.Tensor,
  logMass: tf.Tensor,
  spread: tf.Tensor,
];

/**
 * With u = z − log Σ e^z and p = e^u: dz = a [target] + p (c − a − b (u + H) + d (p − S)) for the gradients a of the log-prob, b of the
 * entropy H, c of the log-sum-exp and d/2 of S = Σπ²; and 0 in rows that nothing depends on, whatever stands there.
 */
function composedGradient(
  dy: tf.Tensor,
  [logits, targets, entropy, square, logMass, spread]: SavedRows,
  temperature: number,
): tf.Tensor {
  const slopes = tf.split(tf.mul(dy, 1 / temperature), 4, 1);
  const [a, b, c, half] = slopes as [tf.Tensor, tf.Tensor, tf.Tensor, tf.Tensor];
  const d = tf.mul(half, 2);
  const scaled = tf.mul(tf.sub(logits, tf.max(logits, 1, true)), 1 / temperature);
  const u = tf.maximum(tf.sub(scaled, logMass), SMALLEST_LOG);
  const p = tf.exp(u);
  const others = tf.addN([c, tf.neg(a), tf.neg(tf.mul(b, entropy)), tf.neg(tf.mul(d, square))]);
  const inner = tf.mul(p, tf.add(tf.sub(others, tf.mul(b, u)), tf.mul(d, p)));
  // The target's own: a (1 − p), and p − S as a difference of what is missing to 1, for p near 1.
  const chosen = chosenOf(u, targets);
  const lacks = tf.expm1(chosen);
  const own = tf.addN([c, tf.neg(tf.mul(b, tf.add(chosen, entropy))), tf.mul(d, tf.add(spread, lacks))]);
  const ofTarget = tf.sub(tf.mul(tf.exp(chosen), own), tf.mul(a, lacks));
  const columns = tf.reshape(tf.range(0, logits.shape[1]!, 1, "int32"), [1, -1]);
  const isTarget = tf.equal(tf.reshape(targets, [-1, 1]), columns);
  const used = tf.greater(tf.addN([a, b, c, d].map((slope) => tf.abs(slope))), 0);
  return tf.where(used, tf.where(isTarget, ofTarget, inner), 0);
}

const gradientInputs = (
  logits: tf.Tensor,
  targets: tf.Tensor,
  [entropy, sumPiSquared, normaliser]: readonly tf.Tensor[],
  [dLogProb, dEntropy, dLogSumExp, dSumPiSquared]: readonly tf.Tensor[],
) =>
  ({ logits, targets, entropy, normaliser, sumPiSquared, dLogProb, dEntropy, dLogSumExp, dSumPiSquared }) as Record<
    string,
    tf.Tensor
  >;

const gradient: tf.GradConfig = {
  kernelName: LOG_PROB_ENTROPY,
  inputsToSave: ["logits", "targets"],
  outputsToSave: [false, true, false, true, true],
  gradFunc: (dOutputs, [logits, targets, ...outputs], attrs) => {
    const inputs = gradientInputs(logits!, targets!, outputs, dOutputs as tf.Tensor[]);
    return { logits: () => callKernel(LOG_PROB_ENTROPY_GRADIENT, inputs, attrs)[0]! };
  },
};

const named = ([log_probs, entropy, log_sum_exp, sum_pi_squared]: readonly tf.Tensor[]): RowDistributions =>
  ({ log_probs, entropy, log_sum_exp, sum_pi_squared }) as RowDistributions;

const listed = (rows: RowDistributions): tf.Tensor[] => [
  rows.log_probs,
  rows.entropy,
  rows.log_sum_exp,
  rows.sum_pi_squared,
];
