import { writeFileSync } from "node:fs";
import { join } from "node:path";
import * as tf from "@tensorflow/tfjs";
import { createLogger, createRunContainer, LOGGER, RNG, ROLE_CONFIG, TOKENIZER } from "verl";

/** The quickstart's model and optimizer. */
export const MODEL = {
  architectures: ["LlamaForCausalLM"],
  vocab_size: 62,
  hidden_size: 128,
  intermediate_size: 256,
  num_hidden_layers: 2,
  num_attention_heads: 4,
  rms_norm_eps: 1e-6,
  rope_theta: 100,
  tie_word_embeddings: true,
};
export const OPTIM = {
  lr: 5e-4,
  lr_warmup_steps: 0,
  lr_warmup_steps_ratio: 0,
  lr_scheduler_type: "constant",
  min_lr_ratio: 0,
  num_cycles: 0.5,
  weight_decay: 0.01,
  betas: [0.9, 0.95],
  eps: 1e-8,
  clip_grad: 1,
};

/** What engines of the model are created from; its config goes into the folder. */
export function modelContainer(folder, { rng, tokenizer, rows }) {
  writeFileSync(join(folder, "config.json"), JSON.stringify(MODEL));
  return createRunContainer({
    [ROLE_CONFIG]: { role: "actor", model: { path: folder }, optim: OPTIM, max_num_seqs: rows },
    [RNG]: rng,
    [LOGGER]: createLogger({ level: "silent" }),
    [TOKENIZER]: tokenizer,
  });
}

/** A token's id that is none of the special ones. */
export const drawId = (rng) => 4 + rng.below(MODEL.vocab_size - 4);

/** PPO's clipped loss, as engine.py and replay.py have it, over the tokens of one optimizer step. */
export const clippedLoss = (tokens) => ({
  fields: ["old_log_probs", "advantages"],
  outputs: ["log_probs"],
  compute({ log_probs, fields }) {
    const ratio = tf.exp(tf.sub(log_probs, fields.old_log_probs));
    const gain = tf.neg(fields.advantages);
    const worst = tf.maximum(tf.mul(gain, ratio), tf.mul(gain, tf.clipByValue(ratio, 0.8, 1.2)));
    return { loss: tf.div(tf.sum(worst), tokens), metrics: {} };
  },
});
