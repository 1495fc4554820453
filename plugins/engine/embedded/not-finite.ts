import * as tf from "@tensorflow/tfjs";
import { NdArray, VerlError, watchLossMatrices } from "verl";

/** A micro-batch's share of a loss and of its metrics. */
interface LossShare {
  loss: number;
  metrics: Record<string, number>;
}

/** What a loss makes of its inputs before it is aggregated; no input of it. */
const MATRIX = "the loss of each token";

/** What a loss was made of: a tensor, and the mask of what counts in it. */
type Suspect = readonly [name: string, values: NdArray, mask: NdArray | undefined];

/**
 * The error for a loss that is not finite: names the first unmasked entry, of the first tensor, that is not finite itself. Its details
 * have `tensor` where that is an input: then the loss is not to blame.
 */
export function nameNotFinite(share: LossShare, suspects: readonly Suspect[]): VerlError {
  for (const [tensor, { shape, data }, mask] of suspects) {
    const at = data.findIndex(
      (value: number | bigint, i: number) => !Number.isFinite(Number(value)) && isRead(i, data.length, mask),
    );
    if (at < 0) continue;
    const width = shape[1] ?? 1;
    const [row, token] = [Math.floor(at / width), at % width];
    const what = `"${tensor}" is ${Number(data[at])} at row ${row}, token ${token}`;
    if (tensor !== MATRIX) return error(share, what, { tensor, row, token });
    return error(share, `all of its inputs are finite, but ${what}`, { row, token });
  }
  return error(share, "all of its inputs are finite, so its own arithmetic overflows or divides by zero", {});
}

/** The matrices that a loss aggregates, one number a token each: where a loss of finite inputs first goes wrong. */
export async function matricesOf(compute: () => unknown): Promise<Suspect[]> {
  const pairs: [tf.Tensor2D, tf.Tensor2D][] = [];
  tf.tidy(() => {
    watchLossMatrices((matrix, mask) => void pairs.push([tf.keep(tf.clone(matrix)), tf.keep(tf.clone(mask))]), compute);
  });
  const array = async (tensor: tf.Tensor2D) =>
    new NdArray("float32", tensor.shape, (await tensor.data()) as Float32Array);
  try {
    return await Promise.all(
      pairs.map(async ([matrix, mask]) => [MATRIX, await array(matrix), await array(mask)] as const),
    );
  } finally {
    tf.dispose(pairs);
  }
}

/** Entries behind the mask are not the loss's business; per-row fields have no mask. */
function isRead(index: number, size: number, mask: NdArray | undefined): boolean {
  return mask?.data.length !== size || Number(mask.data[index]) !== 0;
}

function error({ loss, metrics }: LossShare, cause: string, details: Record<string, unknown>): VerlError {
  return new VerlError("VERL_ENGINE_NOT_FINITE", `The loss is ${loss}: ${cause}.`, {
    hint: "The weights and the accumulated gradient are as they were before this micro-batch. Look at what made that value, or lower the learning rate.",
    details: { loss, metrics, ...details },
  });
}
