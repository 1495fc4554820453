import * as tf from "@tensorflow/tfjs";
import { NdArray, VerlError, type Rng, type WeightMap } from "verl";
import type { Weights } from "./decoder.ts";
import type { ModelConfig } from "./model-config.ts";

/** Shape of every weight by its Hugging Face name, in the order in which files list them. */
export function weightShapes(config: ModelConfig): Map<string, number[]> {
  const { hiddenSize: hidden, intermediateSize: wide, headDim, numHeads, numKeyValueHeads } = config;
  const shapes = new Map([["model.embed_tokens.weight", [config.vocabSize, hidden]]]);
  for (let layer = 0; layer < config.numLayers; layer += 1) {
    const block: Record<string, number[]> = {
      input_layernorm: [hidden],
      "self_attn.q_proj": [numHeads * headDim, hidden],
      "self_attn.k_proj": [numKeyValueHeads * headDim, hidden],
      "self_attn.v_proj": [numKeyValueHeads * headDim, hidden],
      "self_attn.o_proj": [hidden, numHeads * headDim],
      post_attention_layernorm: [hidden],
      "mlp.gate_proj": [wide, hidden],
      "mlp.up_proj": [wide, hidden],
      "mlp.down_proj": [hidden, wide],
    };
    for (const [name, shape] of Object.entries(block)) shapes.set(`model.layers.${layer}.${name}.weight`, shape);
  }
  shapes.set("model.norm.weight", [hidden]);
  if (config.valueHead) shapes.set("score.weight", [1, hidden]);
  else if (!config.tieWordEmbeddings) shapes.set("lm_head.weight", [config.vocabSize, hidden]);
  return shapes;
}

/**
 * Random weights: embeddings N(0, 0.02²), matrices N(0, 1/fanIn), those that write to the residual stream further divided by √(2·layers);
 * norms 1, value head 0. Each weight has its own stream, so that its numbers depend on the seed and its name alone.
 */
export function randomWeights(config: ModelConfig, rng: Rng): WeightMap {
  const residual = 1 / Math.sqrt(2 * config.numLayers);
  const weights = new Map<string, NdArray<"float32">>();
  for (const [name, shape] of weightShapes(config)) {
    const array = NdArray.zeros("float32", shape);
    const fanIn = shape[1];
    if (fanIn === undefined) array.data.fill(1);
    else if (name !== "score.weight") {
      const isEmbedding = name === "model.embed_tokens.weight";
      const writesResidual = name.includes("o_proj") || name.includes("down_proj");
      const deviation = isEmbedding ? 0.02 : (writesResidual ? residual : 1) / Math.sqrt(fanIn);
      const stream = rng.stream(name);
      for (let i = 0; i < array.data.length; i += 1) array.data[i] = deviation * stream.normal();
    }
    weights.set(name, array);
  }
  return weights;
}

/**
 * Puts weights on the backend, copied, after checking names and shapes against the model.
 * A value model takes a language model's weights as they are: the head that it lacks starts at zero, the one it has no use for stays out.
 * @throws VERL_MODEL_WEIGHTS
 */
export function weightTensors(config: ModelConfig, given: ReadonlyMap<string, NdArray>, source: string): Weights {
  const shapes = weightShapes(config);
  const refuse = (problem: string) =>
    new VerlError("VERL_MODEL_WEIGHTS", `The weights from ${source} do not fit the model: ${problem}.`, {
      hint: "Check that config.json belongs to these weights.",
    });
  const ignorable = new Set(config.valueHead || config.tieWordEmbeddings ? ["lm_head.weight"] : []);
  for (const name of given.keys()) {
    if (!shapes.has(name) && !ignorable.has(name)) throw refuse(`"${name}" is not one of its weights`);
  }
  const arrays = [...shapes].map(([name, shape]) => {
    const array = given.get(name) ?? (name === "score.weight" ? NdArray.zeros("float32", shape) : undefined);
    if (!array) throw refuse(`"${name}" is missing`);
    if (array.dtype !== "float32" || array.shape.join() !== shape.join()) {
      throw refuse(`"${name}" is ${array.dtype} [${array.shape.join(", ")}], expected float32 [${shape.join(", ")}]`);
    }
    return [name, shape, array as NdArray<"float32">] as const;
  });
  // Backends may keep the array that they are given; the caller's must stay the caller's.
  return Object.fromEntries(
    arrays.map(([name, shape, { data }]) => [name, tf.keep(tf.tensor(data.slice(), shape, "float32"))]),
  );
}

/** Reads weights back from the backend. */
export async function readWeights(weights: Weights): Promise<Map<string, NdArray<"float32">>> {
  const read = await Promise.all(
    Object.entries(weights).map(async ([name, tensor]) => {
      const data = (await tensor.data()) as Float32Array;
      return [name, new NdArray("float32", tensor.shape, data)] as const;
    }),
  );
  return new Map(read);
}
