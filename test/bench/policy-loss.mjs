import * as tf from "@tensorflow/tfjs";
import { activateBackend, createAggregate, loadPlugins, NdArray, registries } from "verl";
import {
  lossConfig,
  pythonSeconds,
  responseMask,
  ROWS,
  secondsOf,
  TOKENS,
  uniform,
  WIDTH,
} from "./support/algorithms.mjs";

const LOSSES = ["cispo", "clip_cov", "geo_mean", "gpg", "gspo", "kl_cov", "sapo", "vanilla"];

/** Every loss forward and backward, metrics read, on 1,024 answers of up to 4,096 tokens, beside PyTorch eager on the same machine. */
export default async function bench(report) {
  await loadPlugins([]);
  await activateBackend("ort");
  const { mask, lengths } = responseMask();
  const old = uniform(TOKENS).map((value) => -value);
  const noise = uniform(TOKENS);
  const perRow = uniform(ROWS);
  const fields = {
    log_probs: old.map((value, i) => value + 0.4 * (noise[i] - 0.5)),
    old_log_probs: old,
    advantages: Float32Array.from({ length: TOKENS }, (_, i) => 4 * (perRow[Math.floor(i / WIDTH)] - 0.5)),
    response_mask: mask,
  };
  const denominators = { tokens: lengths.reduce((sum, n) => sum + n, 0), sequences: ROWS, scaleFactor: WIDTH };
  const step = map(fields, (data) => new NdArray("float32", [ROWS, WIDTH], data));
  const tensors = map(fields, (data) => tf.tensor2d(data, [ROWS, WIDTH]));
  const python = pythonSeconds("policy_loss");

  for (const key of LOSSES) {
    const loss = registries.policy_loss.resolve(key);
    const config = lossConfig(key);
    const seconds = await secondsOf(async () => {
      const added = map(loss.prepare?.(step, config, { metric: () => {} }) ?? {}, ({ data }) =>
        tf.tensor2d(data, [ROWS, WIDTH]),
      );
      const results = tf.tidy(() => {
        const agg = createAggregate(config.loss_agg_mode, tensors.response_mask, denominators);
        let scalars;
        const { grad } = tf.valueAndGrad((log_probs) => {
          const { loss: value, metrics } = loss.compute({ ...tensors, ...added, log_probs }, config, agg);
          scalars = tf.keep(tf.stack([value, ...Object.values(metrics)]));
          return value;
        })(tensors.log_probs);
        return [scalars, grad];
      });
      // The gradient is computed then, and stays where it is, as PyTorch's does.
      await results[0].data();
      tf.dispose([...results, added]);
    });
    report.row({
      name: `${key}, forward and backward`,
      value: (seconds / TOKENS) * 1e9,
      unit: "ns/token",
      ...(python && { ratio: python[key] / seconds, versus: "PyTorch eager" }),
    });
  }
  tf.dispose(tensors);
}

const map = (fields, body) => Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, body(field)]));
