import * as tf from "@tensorflow/tfjs";
import {
  Block,
  causalBias,
  embed,
  outputProjection,
  rmsNorm,
  slice,
  type DecoderInput,
  type KeysAndValues,
  type Weights,
} from "../../engine/embedded/decoder.ts";
import type { ModelConfig } from "../../engine/embedded/model-config.ts";
import type { Rotary } from "../../engine/embedded/rotary.ts";
import type { SampledTokens } from "./sample-tokens.ts";

export interface SamplerModel {
  config: ModelConfig;
  rotary: Rotary;
  weights: Weights;
}

/**
 * Keys and values of the tokens read so far, one entry a layer. Tokens stand at the right end of the length axis, unused places at
 * the left, so a row's next token always comes at the same place; order does not matter to attention, since keys are already rotated.
 */
export type Cache = KeysAndValues[];

/** Keys and values of prompts; the last block's output is not computed, nothing reads it. */
export function prefill({ config, rotary, weights }: SamplerModel, input: DecoderInput): Cache {
  const [rows, length] = input.ids.shape;
  const angles = rotary.angles(input.positions);
  const bias = causalBias(input);
  const cache: KeysAndValues[] = [];
  let x = embed(weights, input.ids);
  for (let layer = 0; layer < config.numLayers; layer += 1) {
    const block = new Block(weights, config, layer);
    const normed = block.attentionNorm(x);
    const own = block.keysAndValues(normed, rows, rotary, angles);
    cache.push(own);
    if (layer === config.numLayers - 1) break;
    const scores = tf.add(block.scores(block.queries(normed, rows, rotary, angles), own.keys, length), bias);
    x = block.finish(x, block.mix(tf.softmax(scores), own.values, length));
  }
  return cache;
}

export interface Chunk {
  /** int32 [rows, steps]. */
  ids: tf.Tensor2D;
  /** float32 [rows, steps]. */
  logprobs: tf.Tensor2D;
  /** Keys and values of the tokens that were read: the last one before the chunk and all but the last of the chunk. */
  read: Cache;
}

/**
 * Several decoding steps as one graph. The cache stays as it is; tokens of the chunk have a cache of their own beside it.
 * @param last int32 [rows]: the newest token of each row, not read yet
 * @param positions int32 [rows, steps]: positions of the tokens that are read
 * @param bias [rows, 1, 1, 1, cached]: hides unused places of the cache
 */
export function decodeChunk(
  { config, rotary, weights }: SamplerModel,
  cache: Cache,
  bias: tf.Tensor,
  last: tf.Tensor1D,
  positions: tf.Tensor2D,
  sample: (logits: tf.Tensor2D, step: number) => SampledTokens,
): Chunk {
  const [rows, steps] = positions.shape;
  const head = outputProjection(weights, config);
  const angles = rotary.angles(positions);
  const read: (KeysAndValues | undefined)[] = cache.map(() => undefined);
  const sampled: SampledTokens[] = [];
  let ids = last;
  for (let step = 0; step < steps; step += 1) {
    const now = { cos: slice(angles.cos, 2, step, 1), sin: slice(angles.sin, 2, step, 1) };
    let x = embed(weights, ids);
    for (let layer = 0; layer < config.numLayers; layer += 1) {
      const block = new Block(weights, config, layer);
      const normed = block.attentionNorm(x);
      const near = append(read[layer], block.keysAndValues(normed, rows, rotary, now));
      read[layer] = near;
      x = block.finish(x, attend(block, block.queries(normed, rows, rotary, now), cache[layer]!, bias, near));
    }
    const logits: tf.Tensor2D = tf.matMul(
      rmsNorm(x, weights["model.norm.weight"]!, config.rmsNormEps),
      head,
      false,
      true,
    );
    const token = sample(logits, step);
    sampled.push(token);
    ids = token.ids;
  }
  return {
    ids: tf.stack(
      sampled.map((token) => token.ids),
      1,
    ) as tf.Tensor2D,
    logprobs: tf.stack(
      sampled.map((token) => token.logprobs),
      1,
    ) as tf.Tensor2D,
    read: read as KeysAndValues[],
  };
}

/** The cache with a chunk appended, cut or padded at the left to `length` places. */
export function extendCache(cache: Cache, read: Cache, length: number): Cache {
  const join = (old: tf.Tensor4D, recent: tf.Tensor4D): tf.Tensor4D => {
    const keep = length - recent.shape[2];
    const spare = keep - old.shape[2];
    const resized =
      spare > 0
        ? tf.pad(old, [
            [0, 0],
            [0, 0],
            [spare, 0],
            [0, 0],
          ])
        : slice(old, 2, -spare, keep);
    return tf.concat([resized, recent], 2);
  };
  return cache.map(({ keys, values }, layer) => ({
    keys: join(keys, read[layer]!.keys),
    values: join(values, read[layer]!.values),
  }));
}

/** The named rows of a cache. */
export function gatherCache(cache: Cache, rows: Int32Array): Cache {
  const indices = tf.tensor1d(rows, "int32");
  return cache.map(({ keys, values }) => ({ keys: tf.gather(keys, indices), values: tf.gather(values, indices) }));
}

/** One softmax over the cache and the chunk, which are never joined. */
function attend(
  block: Block,
  queries: tf.Tensor4D,
  cached: KeysAndValues,
  bias: tf.Tensor,
  near: KeysAndValues,
): tf.Tensor2D {
  const far = tf.add(block.scores(queries, cached.keys, 1), bias);
  const probabilities = tf.softmax(tf.concat([far, block.scores(queries, near.keys, 1)], 4));
  const split = cached.keys.shape[2];
  return tf.add(
    block.mix(slice(probabilities, 4, 0, split), cached.values, 1),
    block.mix(slice(probabilities, 4, split, near.keys.shape[2]), near.values, 1),
  );
}

function append(old: KeysAndValues | undefined, recent: KeysAndValues): KeysAndValues {
  if (!old) return recent;
  return { keys: tf.concat([old.keys, recent.keys], 2), values: tf.concat([old.values, recent.values], 2) };
}
