import * as tf from "@tensorflow/tfjs";
import type { ModelConfig } from "./model-config.ts";

/** Cosines and sines for each token of a batch, [rows, 1, length, headDim], ready to broadcast over heads. */
export interface RotaryAngles {
  cos: tf.Tensor4D;
  sin: tf.Tensor4D;
}

/**
 * Rotary position embedding in Llama's "rotate half" form (Su et al. 2021): x·cos + rotateHalf(x)·sin, where rotateHalf maps the
 * halves (a, b) of a head to (−b, a). The half turn is a product with a constant matrix of 0 and ±1: exact, and one op in both directions.
 * The tables grow by doubling and stay on the backend until `dispose`.
 */
export class Rotary {
  private tables: { length: number; cos: tf.Tensor2D; sin: tf.Tensor2D; halfTurn: tf.Tensor2D } | undefined;

  constructor(private readonly config: Pick<ModelConfig, "headDim" | "ropeTheta" | "maxPositions">) {}

  /** Makes the tables reach the position `last`. Call it before `angles`, on the host's copy of the positions. */
  reach(last: number): void {
    if (this.tables && last < this.tables.length) return;
    const { headDim, ropeTheta, maxPositions } = this.config;
    const length = Math.max(last + 1, Math.min(maxPositions, Math.max(64, 2 ** Math.ceil(Math.log2(last + 1)))));
    const half = headDim / 2;
    const cos = new Float32Array(length * headDim);
    const sin = new Float32Array(length * headDim);
    const halfTurn = new Float32Array(headDim * headDim);
    for (let i = 0; i < headDim; i += 1) {
      halfTurn[i * headDim + ((i + half) % headDim)] = i < half ? 1 : -1;
      const frequency = ropeTheta ** (-(i % half) / half);
      for (let position = 0; position < length; position += 1) {
        cos[position * headDim + i] = Math.cos(position * frequency);
        sin[position * headDim + i] = Math.sin(position * frequency);
      }
    }
    this.dispose();
    this.tables = {
      length,
      cos: tf.keep(tf.tensor2d(cos, [length, headDim])),
      sin: tf.keep(tf.tensor2d(sin, [length, headDim])),
      halfTurn: tf.keep(tf.tensor2d(halfTurn, [headDim, headDim])),
    };
  }

  /** @param positions int32 [rows, length] */
  angles(positions: tf.Tensor2D): RotaryAngles {
    const { cos, sin } = this.loaded();
    const [rows, length] = positions.shape;
    const flat = tf.reshape(positions, [-1]);
    const at = (table: tf.Tensor2D): tf.Tensor4D => tf.reshape(tf.gather(table, flat), [rows, 1, length, -1]);
    return { cos: at(cos), sin: at(sin) };
  }

  /** @param x [rows, heads, length, headDim] */
  rotate(x: tf.Tensor4D, { cos, sin }: RotaryAngles): tf.Tensor4D {
    const turned = tf.reshape(tf.matMul(tf.reshape(x, [-1, this.config.headDim]), this.loaded().halfTurn), x.shape);
    return tf.add(tf.mul(x, cos), tf.mul(turned, sin));
  }

  dispose(): void {
    if (this.tables) tf.dispose([this.tables.cos, this.tables.sin, this.tables.halfTurn]);
    this.tables = undefined;
  }

  private loaded() {
    if (!this.tables) throw new Error("Rotary.reach was not called.");
    return this.tables;
  }
}
