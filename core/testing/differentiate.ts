import * as tf from "@tensorflow/tfjs";
import { numbersOf } from "./numbers.ts";

/** A function's results at a point, as plain numbers. */
export interface Differentiated {
  readonly value: number;
  /** The shape of the point. */
  readonly gradient: Float32Array;
  /** What else the function computed. */
  readonly others: Readonly<Record<string, Float32Array>>;
}

/**
 * Value and gradient of a function at `x`. Numbers are read after all is computed, and awaited: a GPU gives them in no other way.
 * @param of the scalar that is differentiated, and other results to read.
 */
export async function differentiate(
  x: tf.Tensor,
  of: (x: tf.Tensor) => { readonly value: tf.Tensor; readonly others: Readonly<Record<string, tf.Tensor>> },
): Promise<Differentiated> {
  const kept: Record<string, tf.Tensor> = {};
  const alive: tf.Tensor[] = [];
  try {
    const { value, grad } = tf.tidy(() =>
      tf.valueAndGrad((at: tf.Tensor) => {
        const results = of(at);
        // A copy is ours to dispose of, whoever else holds the tensor.
        for (const [name, tensor] of Object.entries(results.others)) kept[name] = tf.keep(tf.clone(tensor));
        return results.value;
      })(x),
    );
    alive.push(value, grad);
    const [own, others] = await Promise.all([numbersOf({ value, grad }), numbersOf(kept)]);
    return { value: own["value"]![0]!, gradient: own["grad"]!, others };
  } finally {
    tf.dispose([alive, kept]);
  }
}
