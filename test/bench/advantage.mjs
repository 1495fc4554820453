import { loadPlugins, NdArray, registries, resolveOptions } from "verl";
import { GROUP, pythonSeconds, responseMask, ROWS, secondsOf, TOKENS, uniform, WIDTH } from "./support/algorithms.mjs";

const OPTIONS = { gdpo: { reward_keys: ["accuracy", "brevity"] } };

/** Every estimator on 1,024 answers of up to 4,096 tokens in groups of 8, beside the same formula in PyTorch's usual loops. */
export default async function bench(report) {
  await loadPlugins([]);
  const { mask, lengths } = responseMask();
  const matrix = (data) => new NdArray("float32", [ROWS, WIDTH], data);
  const rewards = new Float32Array(TOKENS);
  lengths.forEach((length, row) => (rewards[row * WIDTH + length - 1] = Math.min(row % 3, 1)));
  const input = {
    token_level_rewards: matrix(rewards),
    response_mask: matrix(mask),
    uid: Array.from({ length: ROWS }, (_, row) => `prompt-${Math.floor(row / GROUP)}`),
    values: matrix(uniform(TOKENS)),
    old_log_probs: matrix(uniform(TOKENS).map((value) => -value)),
    sum_pi_squared: matrix(uniform(TOKENS)),
    reward_baselines: new NdArray("float32", [ROWS], uniform(ROWS)),
    accuracy: [...uniform(ROWS)],
    brevity: [...uniform(ROWS)],
  };
  const python = pythonSeconds("advantage");
  for (const key of registries.adv_estimator.keys()) {
    const estimator = registries.adv_estimator.resolve(key);
    const config = {
      gamma: 1,
      lam: 0.95,
      norm_adv_by_std_in_grpo: true,
      adv_kwargs: resolveOptions("adv_estimator", key, OPTIONS[key]),
    };
    const seconds = await secondsOf(() => void estimator.compute(input, config, { metric: () => {} }));
    report.row({
      name: key,
      value: (seconds / TOKENS) * 1e9,
      unit: "ns/token",
      ...(python && { ratio: python[key] / seconds, versus: "PyTorch" }),
    });
  }
}
