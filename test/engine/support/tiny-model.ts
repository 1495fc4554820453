import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as tf from "@tensorflow/tfjs";
import { DataProto, NdArray, createRng, type Logger, type OptimConfig, type RoleConfig, type TokenLoss } from "verl";
import { EmbeddedEngine } from "../../../plugins/engine/embedded/embedded-engine.ts";

// Without it tfjs prints a banner.
tf.enableProdMode();

/** Two layers with grouped-query attention, small enough for tfjs' own cpu backend. */
export const TINY = {
  architectures: ["LlamaForCausalLM"],
  vocab_size: 11,
  hidden_size: 8,
  intermediate_size: 12,
  num_hidden_layers: 2,
  num_attention_heads: 4,
  num_key_value_heads: 2,
  head_dim: 4,
  rms_norm_eps: 1e-6,
  rope_theta: 100,
  max_position_embeddings: 64,
  tie_word_embeddings: true,
};

export const OPTIM: OptimConfig = {
  lr: 0.01,
  lr_warmup_steps: 0,
  lr_warmup_steps_ratio: 0,
  lr_scheduler_type: "constant",
  min_lr_ratio: 0,
  num_cycles: 0.5,
  weight_decay: 0.1,
  betas: [0.9, 0.95],
  eps: 1e-8,
  clip_grad: 1,
};

export const silent: Logger = { debug() {}, info() {}, warn() {}, warnOnce() {} };

export function modelFolder(config: Record<string, unknown> = TINY): string {
  const folder = mkdtempSync(join(tmpdir(), "verl-model-"));
  writeFileSync(join(folder, "config.json"), JSON.stringify(config));
  return folder;
}

export interface TinyOptions {
  config?: Record<string, unknown>;
  optim?: Partial<OptimConfig>;
  seed?: number;
  role?: RoleConfig["role"];
  log?: Logger;
}

export function tinyEngine({
  config,
  optim,
  seed = 1,
  role = "actor",
  log = silent,
}: TinyOptions = {}): EmbeddedEngine {
  const model = { path: modelFolder(config) };
  return new EmbeddedEngine({ role, model, optim: { ...OPTIM, ...optim } }, createRng(seed), log);
}

/** Prompts left-padded, responses right-padded, as the trainer builds them. */
export function batchOf(
  rows: readonly { prompt: readonly number[]; response: readonly number[] }[],
  { promptLength, responseLength, pad = 0 }: { promptLength: number; responseLength: number; pad?: number },
  extra: Record<string, NdArray> = {},
): DataProto {
  const length = promptLength + responseLength;
  const array = (width: number) => NdArray.zeros("int32", [rows.length, width]);
  const [ids, mask, positions, responses, responseMask] = [
    array(length),
    array(length),
    array(length),
    array(responseLength),
    array(responseLength),
  ];
  ids.data.fill(pad);
  responses.data.fill(pad);
  rows.forEach(({ prompt, response }, row) => {
    const start = promptLength - prompt.length;
    [...prompt, ...response].forEach((id, i) => {
      ids.data[row * length + start + i] = id;
      mask.data[row * length + start + i] = 1;
    });
    let seen = 0;
    for (let i = 0; i < length; i += 1) {
      seen += mask.data[row * length + i]!;
      positions.data[row * length + i] = Math.max(0, seen - 1);
    }
    responses.data.set(response, row * responseLength);
    responseMask.data.fill(1, row * responseLength, row * responseLength + response.length);
  });
  return new DataProto({
    batch: {
      input_ids: ids,
      attention_mask: mask,
      position_ids: positions,
      responses,
      response_mask: responseMask,
      ...extra,
    },
  });
}

/** Σ −log_prob·weight over unmasked tokens, minus an entropy bonus; linear in what the engine gives. */
export function linearLoss(entropyCoefficient = 0): TokenLoss {
  return {
    fields: ["response_mask", "weight"],
    outputs: entropyCoefficient === 0 ? ["log_probs"] : ["log_probs", "entropy"],
    compute: ({ log_probs, entropy, fields }) => {
      const sum = (matrix: tf.Tensor) =>
        tf.sum<tf.Scalar>(tf.where(tf.greater(fields["response_mask"]!, 0), matrix, tf.zerosLike(matrix)));
      const policy = tf.neg<tf.Scalar>(sum(tf.mul(log_probs, fields["weight"]!)));
      const loss = entropy ? tf.sub<tf.Scalar>(policy, tf.mul(sum(entropy), entropyCoefficient)) : policy;
      return { loss, metrics: { "actor/policy": policy } };
    },
  };
}
