import * as tf from "@tensorflow/tfjs";
import { callKernel, ensureGradient, hasKernel } from "./call.ts";
import { requireShape } from "./require-shape.ts";

/*
 * What advantages and KL terms take, for batches that live in the backend. Where it has no kernel for them, each is composed of tfjs' operations.
 */

/** Kernel: inputs `values`, `mask`; attribute `shiftMean`; output of the inputs' shape. */
export const MASKED_WHITEN = "MaskedWhiten";
/** Kernel: inputs `values` [rows], `groups` int32 [rows]; attribute `count`; outputs mean, standard deviation and size, each [count]. */
export const GROUP_STATISTICS = "GroupStatistics";
/** Kernel: inputs `rewards`, `values`, `mask` [rows, width]; attributes `gamma`, `lam`; outputs advantages and returns. */
export const GAE_SCAN = "GaeScan";
/** Kernel: inputs `logProbs`, `refLogProbs`; attribute `kind`; output of the inputs' shape. */
export const KL_PENALTY = "KlPenalty";
/** Kernel: inputs those of `KlPenalty` and `dOutput`; attribute `kind`; output: the gradient of `logProbs`. */
export const KL_PENALTY_GRADIENT = "KlPenaltyGradient";

/** Keeps an almost constant batch from being blown up. */
const WHITEN_EPSILON = 1e-8;

/** (x − mean) / √(variance + 1e-8) with n − 1 over unmasked elements, 0 behind the mask. @param shiftMean false: the mean is added back. */
export function maskedWhitenTensor<T extends tf.Tensor>(values: T, mask: T, { shiftMean = true } = {}): T {
  requireShape("mask", mask, values.shape);
  if (hasKernel(MASKED_WHITEN, { values, mask }))
    return callKernel(MASKED_WHITEN, { values, mask }, { shiftMean })[0] as T;
  return tf.tidy(() => {
    const on = tf.greater(mask, 0);
    const x = tf.where(on, values, tf.zerosLike(values));
    const count = tf.sum(tf.cast(on, "float32"));
    const mean = tf.div(tf.sum(x), tf.maximum(count, 1));
    const off = tf.where(on, tf.sub(x, mean), tf.zerosLike(values));
    const variance = tf.div(tf.sum(tf.square(off)), tf.maximum(tf.sub(count, 1), 1));
    const whitened = tf.div(off, tf.sqrt(tf.add(variance, WHITEN_EPSILON)));
    return (shiftMean ? whitened : tf.where(on, tf.add(whitened, mean), tf.zerosLike(values))) as T;
  });
}

export interface GroupTensors extends tf.NamedTensorMap {
  /** 0 for groups without rows. */
  mean: tf.Tensor1D;
  /** With n − 1; 0 for groups of fewer than two rows. */
  std: tf.Tensor1D;
  size: tf.Tensor1D;
}

/** Statistics of each group of rows. @param groups int32, in [0, count), or negative for rows that take no part. */
export function groupStatisticsTensor(values: tf.Tensor1D, groups: tf.Tensor1D, count: number): GroupTensors {
  requireShape("groups", groups, values.shape);
  if (hasKernel(GROUP_STATISTICS, { values, groups })) {
    const [mean, std, size] = callKernel(GROUP_STATISTICS, { values, groups }, { count }) as tf.Tensor1D[];
    return { mean: mean!, std: std!, size: size! };
  }
  return tf.tidy(() => {
    const member = tf.equal(tf.expandDims(tf.range(0, count, 1, "int32"), 1), tf.expandDims(groups, 0));
    const select = (x: tf.Tensor): tf.Tensor => tf.where(member, x, tf.zerosLike(x));
    const spread = tf.broadcastTo(tf.expandDims(values, 0), member.shape);
    const size = tf.sum(tf.cast(member, "float32"), 1);
    const mean = tf.div(tf.sum(select(spread), 1), tf.maximum(size, 1));
    const off = select(tf.sub(spread, tf.expandDims(mean, 1)));
    const std = tf.sqrt(tf.div(tf.sum(tf.square(off), 1), tf.maximum(tf.sub(size, 1), 1)));
    return { mean, std, size } as GroupTensors;
  });
}

/**
 * Generalized advantage estimation, not yet whitened: A_t = r_t + γ V_{t'} − V_t + γ λ A_{t'}, returns_t = A_t + V_t, where t' is the next
 * unmasked token. 0 behind the mask. All [rows, width].
 */
export function gaeTensor(
  rewards: tf.Tensor2D,
  values: tf.Tensor2D,
  mask: tf.Tensor2D,
  { gamma, lam }: { gamma: number; lam: number },
): { advantages: tf.Tensor2D; returns: tf.Tensor2D } {
  requireShape("values", values, rewards.shape);
  requireShape("mask", mask, rewards.shape);
  if (hasKernel(GAE_SCAN, { rewards, values, mask })) {
    const [advantages, returns] = callKernel(GAE_SCAN, { rewards, values, mask }, { gamma, lam }) as tf.Tensor2D[];
    return { advantages: advantages!, returns: returns! };
  }
  return tf.tidy(() => {
    const [columns, flags] = [values, mask].map((matrix) => tf.unstack(matrix, 1));
    let [next, advantage] = [tf.zerosLike(columns![0]!), tf.zerosLike(columns![0]!)];
    const advantages: tf.Tensor[] = [];
    tf.unstack(rewards, 1).forEach((_, i, all) => {
      const t = all.length - 1 - i;
      const on = tf.greater(flags![t]!, 0);
      const here = tf.addN([all[t]!, tf.mul(next, gamma), tf.neg(columns![t]!), tf.mul(advantage, gamma * lam)]);
      advantage = tf.where(on, here, advantage);
      next = tf.where(on, columns![t]!, next);
      advantages.unshift(tf.where(on, here, tf.zerosLike(here)));
    });
    const stacked = tf.stack(advantages, 1) as tf.Tensor2D;
    const returns: tf.Tensor2D = tf.where(tf.greater(mask, 0), tf.add(stacked, values), tf.zerosLike(values));
    return { advantages: stacked, returns };
  });
}

/** KL estimators that have a kernel, by their keys in the `kl_penalty` registry. */
export type FusedKl = "k1" | "abs" | "k2" | "k3";

/**
 * An estimator with its gradient in one pass each. Undefined where the backend has no kernel for it, or none for tensors that are not
 * computed yet.
 */
export function fusedKl(kind: FusedKl, logProbs: tf.Tensor2D, refLogProbs: tf.Tensor2D): tf.Tensor2D | undefined {
  requireShape("refLogProbs", refLogProbs, logProbs.shape);
  if (!hasKernel(KL_PENALTY, { logProbs, refLogProbs })) return undefined;
  ensureGradient(klGradient);
  return callKernel(KL_PENALTY, { logProbs, refLogProbs }, { kind })[0] as tf.Tensor2D;
}

const klGradient: tf.GradConfig = {
  kernelName: KL_PENALTY,
  inputsToSave: ["logProbs", "refLogProbs"],
  gradFunc: (dOutput, [logProbs, refLogProbs], attrs) => {
    const inputs = { logProbs, refLogProbs, dOutput: dOutput as tf.Tensor };
    const slope = (): tf.Tensor => callKernel(KL_PENALTY_GRADIENT, inputs, attrs)[0]!;
    return { logProbs: slope, refLogProbs: () => tf.neg(slope()) };
  },
};
