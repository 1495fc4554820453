import * as tf from "@tensorflow/tfjs";
import type { ModelConfig } from "./model-config.ts";
import type { Rotary, RotaryAngles } from "./rotary.ts";

/*
 * A Llama decoder: RMSNorm, rotary positions, grouped-query attention, SwiGLU. Activations are [rows × length, hidden]; heads are
 * [rows, heads, length, headDim]. The trainer's forward is `decode` below; the sampler puts the same pieces around a cache.
 */

/** Weights by Hugging Face name, rows = outputs. */
export type Weights = Readonly<Record<string, tf.Tensor>>;

/** Added to the score of a key that a query must not see; finite, so that a row without any key stays finite too. */
const HIDDEN = -1e9;

export interface DecoderInput {
  /** int32 [rows, length]. */
  ids: tf.Tensor2D;
  /** int32 [rows, length]. */
  positions: tf.Tensor2D;
  /** bool [rows, length]; false on padding. */
  valid: tf.Tensor2D;
  /** int32 [rows, length], where several conversations share a row: tokens see their own segment only. */
  segments?: tf.Tensor2D;
}

/** Both [rows, keyValueHeads, length, headDim]; keys are rotated. A type, not an interface, so that `tf.tidy` may return it. */
export type KeysAndValues = { keys: tf.Tensor4D; values: tf.Tensor4D };

/** Final hidden states of the positions `start … start + count`, [rows × count, hidden]. */
export function decode(
  weights: Weights,
  config: ModelConfig,
  rotary: Rotary,
  input: DecoderInput,
  { start, count }: { start: number; count: number },
): tf.Tensor2D {
  const [rows, length] = input.ids.shape;
  const angles = rotary.angles(input.positions);
  const bias = causalBias(input);
  let x = embed(weights, input.ids);
  for (let layer = 0; layer < config.numLayers; layer += 1) {
    const block = new Block(weights, config, layer);
    let normed = block.attentionNorm(x);
    const cached = block.keysAndValues(normed, rows, rotary, angles);
    let [queryAngles, queryBias, queried] = [angles, bias, length];
    if (layer === config.numLayers - 1) {
      // Nothing reads the last block's other positions: only their keys and values count.
      const span = <T extends tf.Tensor>(tensor: T, axis: number) => slice(tensor, axis, start, count);
      x = span2d(x, rows, start, count);
      normed = span2d(normed, rows, start, count);
      queryAngles = { cos: span(angles.cos, 2), sin: span(angles.sin, 2) };
      [queryBias, queried] = [span(bias, 3), count];
    }
    const queries = block.queries(normed, rows, rotary, queryAngles);
    const scores = tf.add(block.scores(queries, cached.keys, queried), queryBias);
    x = block.finish(x, block.mix(tf.softmax(scores), cached.values, queried));
  }
  return rmsNorm(x, weights["model.norm.weight"]!, config.rmsNormEps);
}

/** Embeddings of int32 ids of any shape, [ids.size, hidden]. */
export function embed(weights: Weights, ids: tf.Tensor): tf.Tensor2D {
  return tf.gather(weights["model.embed_tokens.weight"] as tf.Tensor2D, tf.reshape(ids, [-1]));
}

/** The matrix that turns hidden states to logits, [vocabulary, hidden]. */
export function outputProjection(weights: Weights, config: ModelConfig): tf.Tensor2D {
  return weights[config.tieWordEmbeddings ? "model.embed_tokens.weight" : "lm_head.weight"] as tf.Tensor2D;
}

/** x / √(mean(x²) + ε) · gain, over the last axis (Zhang & Sennrich 2019). */
export function rmsNorm(x: tf.Tensor2D, gain: tf.Tensor, eps: number): tf.Tensor2D {
  return tf.mul(tf.mul(x, tf.rsqrt(tf.add(tf.mean(tf.square(x), -1, true), eps))), gain);
}

/** 0 where a query may see a key, else `HIDDEN`: nothing from padding, the future or another segment. [rows, 1, 1, length, length] */
export function causalBias({ valid, segments }: DecoderInput): tf.Tensor {
  const [rows, length] = valid.shape;
  const steps = tf.range(0, length, 1, "int32");
  const past = tf.lessEqual(tf.reshape(steps, [1, length]), tf.reshape(steps, [length, 1]));
  const asKeys = (tensor: tf.Tensor) => tf.reshape(tensor, [rows, 1, 1, 1, length]);
  const visible = tf.logicalAnd(tf.reshape(past, [1, 1, 1, length, length]), asKeys(valid));
  if (!segments) return paddingBias(visible);
  return paddingBias(tf.logicalAnd(visible, tf.equal(tf.reshape(segments, [rows, 1, 1, length, 1]), asKeys(segments))));
}

/** 0 where `visible`, else `HIDDEN`. */
export function paddingBias(visible: tf.Tensor): tf.Tensor {
  return tf.mul(tf.cast(tf.logicalNot(visible), "float32"), HIDDEN);
}

/** One block's weights and the pieces of its computation. */
export class Block {
  constructor(
    private readonly weights: Weights,
    private readonly config: ModelConfig,
    private readonly layer: number,
  ) {}

  attentionNorm(x: tf.Tensor2D): tf.Tensor2D {
    return rmsNorm(x, this.weight("input_layernorm"), this.config.rmsNormEps);
  }

  keysAndValues(normed: tf.Tensor2D, rows: number, rotary: Rotary, angles: RotaryAngles): KeysAndValues {
    const { numKeyValueHeads } = this.config;
    return {
      keys: rotary.rotate(this.heads(this.project(normed, "self_attn.k_proj"), rows, numKeyValueHeads), angles),
      values: this.heads(this.project(normed, "self_attn.v_proj"), rows, numKeyValueHeads),
    };
  }

  /** [rows, heads, length, headDim], rotated. */
  queries(normed: tf.Tensor2D, rows: number, rotary: Rotary, angles: RotaryAngles): tf.Tensor4D {
    return rotary.rotate(this.heads(this.project(normed, "self_attn.q_proj"), rows, this.config.numHeads), angles);
  }

  /** q·k/√headDim of each group of query heads with its key head: [rows, keyValueHeads, group, queried, keys]. */
  scores(queries: tf.Tensor4D, keys: tf.Tensor4D, queried: number): tf.Tensor {
    const [rows, groups, seen, headDim] = keys.shape;
    const group = this.config.numHeads / groups;
    const products = tf.matMul(tf.reshape(queries, [rows, groups, group * queried, headDim]), keys, false, true);
    return tf.reshape(tf.mul(products, 1 / Math.sqrt(headDim)), [rows, groups, group, queried, seen]);
  }

  /** Values weighted by `probabilities` (shaped as `scores`), back as [rows × queried, heads × headDim]. */
  mix(probabilities: tf.Tensor, values: tf.Tensor4D, queried: number): tf.Tensor2D {
    const [rows, groups, seen, headDim] = values.shape;
    const { numHeads } = this.config;
    const group = numHeads / groups;
    const mixed = tf.matMul(tf.reshape(probabilities, [rows, groups, group * queried, seen]), values);
    const byToken = swapTokensAndHeads(tf.reshape(mixed, [rows, numHeads, queried, headDim]));
    return tf.reshape(byToken, [rows * queried, numHeads * headDim]);
  }

  /** Output projection, residual, and the feed-forward half: silu(gate) · up, then down (Shazeer 2020). */
  finish(x: tf.Tensor2D, attended: tf.Tensor2D): tf.Tensor2D {
    const y = tf.add<tf.Tensor2D>(x, this.project(attended, "self_attn.o_proj"));
    const normed = rmsNorm(y, this.weight("post_attention_layernorm"), this.config.rmsNormEps);
    const gate = this.project(normed, "mlp.gate_proj");
    const gated = tf.mul<tf.Tensor2D>(tf.mul(gate, tf.sigmoid(gate)), this.project(normed, "mlp.up_proj"));
    return tf.add(y, this.project(gated, "mlp.down_proj"));
  }

  private heads(projected: tf.Tensor2D, rows: number, count: number): tf.Tensor4D {
    return swapTokensAndHeads(tf.reshape(projected, [rows, -1, count, this.config.headDim]));
  }

  private project(x: tf.Tensor2D, name: string): tf.Tensor2D {
    return tf.matMul<tf.Tensor2D>(x, this.weight(name), false, true);
  }

  private weight(name: string): tf.Tensor {
    return this.weights[`model.layers.${this.layer}.${name}.weight`]!;
  }
}

/** Exchanges the middle axes; where one of them has a single entry, as in decoding, no element moves. */
function swapTokensAndHeads(x: tf.Tensor4D): tf.Tensor4D {
  const [rows, a, b, headDim] = x.shape;
  return a === 1 || b === 1 ? tf.reshape(x, [rows, b, a, headDim]) : tf.transpose(x, [0, 2, 1, 3]);
}

/** `count` entries of one axis from `start`. */
export function slice<T extends tf.Tensor>(tensor: T, axis: number, start: number, count: number): T {
  const begin = tensor.shape.map((_, i) => (i === axis ? start : 0));
  const size = tensor.shape.map((extent, i) => (i === axis ? count : extent));
  return tf.slice(tensor, begin, size);
}

function span2d(x: tf.Tensor2D, rows: number, start: number, count: number): tf.Tensor2D {
  const width = x.shape[1];
  return tf.reshape(slice(tf.reshape(x, [rows, -1, width]), 1, start, count), [-1, width]);
}
