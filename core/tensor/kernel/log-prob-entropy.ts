import * as tf from "@tensorflow/tfjs";
import { VerlError } from "../../errors/index.ts";
import { callKernel, ensureGradient, hasKernel } from "./call.ts";

/**
 * Kernel: inputs `logits`, `targets`; attributes `LogProbAttrs`; outputs log-prob, entropy, log-sum-exp and
 * Σπ², each [rows], and the normaliser, [rows, 2]: the largest logit and the log of Σ e^(z − largest), whose sum would round.
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
 * With a kernel (`webgpu`) logits are read once; the backward pass reads them once more and writes their gradient. Elsewhere it is
 * composed of tfjs' operations.
 * @param logits [rows, vocabulary], float32 tensor or float16 halves.
 * @param targets int32 [rows], in [0, vocabulary).
 * @throws VERL_TENSOR_DTYPE for float16 where no kernel reads it.
 */
export function logProbEntropy(
  logits: tf.Tensor2D | HalfMatrix,
  targets: tf.Tensor1D,
  { temperature = 1 }: { temperature?: number } = {},
): RowDistributions {
  const half = "halves" in logits;
  if (hasKernel(LOG_PROB_ENTROPY)) {
    ensureGradient(gradient);
    const attrs: LogProbAttrs = { temperature, columns: half ? logits.columns : logits.shape[1], half };
    return named(callKernel(LOG_PROB_ENTROPY, { logits: half ? logits.halves : logits, targets }, attrs));
  }
  if (half) {
    throw new VerlError(
      "VERL_TENSOR_DTYPE",
      `The tensor backend "${tf.getBackend()}" has no kernel for float16 logits.`,
      {
        hint: "Widen them to float32, or use a backend that has one: webgpu.",
      },
    );
  }
  return composedLogProbEntropy(logits, targets, temperature);
}

/** The gradient of float16 logits, as float16. tfjs differentiates float32 only, so that it is asked for by hand. */
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
  const normaliser = tf.stack([log_sum_exp, tf.zerosLike(log_sum_exp)], 1);
  const gradient = gradientOf(halves, targets, [entropy, sum_pi_squared, normaliser], listed(dOutputs), attrs);
  return { halves: gradient as tf.Tensor2D, columns };
}

/** The same by tfjs' operations, each of which reads and writes the whole matrix. */
export function composedLogProbEntropy(
  logits: tf.Tensor2D,
  targets: tf.Tensor1D,
  temperature: number,
): RowDistributions {
  const [rows] = logits.shape;
  const scaled = tf.div(logits, temperature);
  const logSumExp = tf.logSumExp(scaled, 1, true);
  const logProbs: tf.Tensor2D = tf.sub(scaled, logSumExp);
  const probs = tf.exp(logProbs);
  return named([
    tf.reshape(tf.gather(logProbs, tf.reshape(targets, [rows, 1]), 1, 1), [rows]),
    tf.neg(tf.sum(tf.mul(probs, tf.maximum(logProbs, SMALLEST_LOG)), 1)),
    tf.reshape(logSumExp, [rows]),
    tf.sum(tf.square(probs), 1),
  ]);
}

/** Below it a probability is 0 in float32, and −∞ times 0 must not be NaN. */
const SMALLEST_LOG = -100;

function gradientOf(
  logits: tf.Tensor,
  targets: tf.Tensor,
  [entropy, sumPiSquared, normaliser]: readonly tf.Tensor[],
  [dLogProb, dEntropy, dLogSumExp, dSumPiSquared]: readonly tf.Tensor[],
  attrs: LogProbAttrs,
): tf.Tensor {
  const inputs = { logits, targets, entropy, normaliser, sumPiSquared, dLogProb, dEntropy, dLogSumExp, dSumPiSquared };
  return callKernel(LOG_PROB_ENTROPY_GRADIENT, inputs, attrs)[0]!;
}

const gradient: tf.GradConfig = {
  kernelName: LOG_PROB_ENTROPY,
  inputsToSave: ["logits", "targets"],
  outputsToSave: [false, true, false, true, true],
  gradFunc: (dOutputs, [logits, targets, ...outputs], attrs) => ({
    logits: () => gradientOf(logits!, targets!, outputs, dOutputs as tf.Tensor[], attrs as LogProbAttrs),
  }),
};

const named = ([log_probs, entropy, log_sum_exp, sum_pi_squared]: readonly tf.Tensor[]): RowDistributions =>
  ({ log_probs, entropy, log_sum_exp, sum_pi_squared }) as RowDistributions;

const listed = (rows: RowDistributions): tf.Tensor[] => [
  rows.log_probs,
  rows.entropy,
  rows.log_sum_exp,
  rows.sum_pi_squared,
];
