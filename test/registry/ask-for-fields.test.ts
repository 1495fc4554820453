import { beforeAll, expect, it } from "@jest/globals";
import * as tf from "@tensorflow/tfjs";
import { NdArray } from "../../core/batch/index.ts";
import {
  createAggregate,
  registerAdvEst,
  registerPolicyLoss,
  type AdvantageConfig,
  type AdvantageEstimator,
  type AdvantageInput,
  type PolicyLossInput,
} from "../../core/index.ts";
import { definePlugin, loadPlugins, provide, registerPlugin, registries } from "../../core/registry/index.ts";
import { clearRegistries, failure, loss } from "./helpers.ts";

beforeAll(async () => {
  clearRegistries();
  await loadPlugins([]);
});

const config: AdvantageConfig = { gamma: 1, lam: 1, norm_adv_by_std_in_grpo: true, adv_kwargs: {} };
const ctx = { metric: () => {} };
const cells = () => new NdArray("float32", [2, 1], Float32Array.from([1, 0]));
const usual = (): AdvantageInput => ({ token_level_rewards: cells(), response_mask: cells(), uid: ["a", "a"] });

const calls = (key: string, input: Partial<AdvantageInput>, adv_kwargs: object = {}) =>
  failure(() =>
    registries.adv_estimator
      .resolve(key)
      .compute(input as AdvantageInput, { ...config, adv_kwargs: { ...adv_kwargs } }, ctx),
  );

it.each([
  ["gae", "values", "set critic.enable=true"],
  ["remax", "reward_baselines", "as `remax` does"],
  ["optimal_token_baseline", "sum_pi_squared", "calculate_sum_pi_squared=true"],
  ["tir_optimal_token_baseline", "old_log_probs", "the policy's log-probs before the update"],
])("%s, called without `%s`, says so and who would supply it", async (key, field, supplier) => {
  const error = await calls(key, usual());
  expect(error.code).toBe("VERL_FIELD_MISSING");
  expect(error.message).toContain(`The advantage estimator "${key}" was called without `);
  expect(error.message).toContain(`\`${field}\``);
  expect(error.hint).toContain(`\`${field}\`: `);
  expect(error.hint).toContain(supplier);
  expect(error.location?.path).toBe("algorithm.adv_estimator");
});

it("every built-in estimator names each field that it is called without", async () => {
  for (const key of registries.adv_estimator.keys()) {
    for (const field of ["token_level_rewards", "response_mask", "uid"]) {
      const error = await calls(key, { ...usual(), [field]: undefined }, { reward_keys: ["format"] });
      expect([key, error.code, error.message]).toEqual([key, "VERL_FIELD_MISSING", expect.stringContaining(field)]);
      expect(error.message).toContain(`"${key}"`);
    }
  }
});

it("a column that options name is looked for too", async () => {
  const error = await calls("gdpo", usual(), { reward_keys: ["format", "correct"] });
  expect(error.message).toBe(
    'The advantage estimator "gdpo" was called without `format` and without `correct`, which it requires.',
  );
  expect(error.hint).toContain("a part of the reward");
});

it("every built-in loss names each field that it is called without, in `prepare` too", async () => {
  const mask = tf.ones<tf.Rank.R2>([1, 1]);
  const agg = createAggregate("token-mean", mask, { tokens: 1, sequences: 1, scaleFactor: 1 });
  const whole = { log_probs: mask, old_log_probs: mask, advantages: mask, response_mask: mask };
  const actor = { policy_loss: { loss_mode: "" } } as never;
  for (const [key, entry] of registries.policy_loss.entries()) {
    for (const field of Object.keys(whole)) {
      const without = { ...whole, [field]: undefined } as unknown as PolicyLossInput;
      const words = `The policy loss "${key}" was called without \`${field}\`, which it requires.`;
      expect((await failure(() => entry.compute(without, actor, agg))).message).toBe(words);
      if (!entry.prepare) continue;
      expect((await failure(() => entry.prepare?.(without as never, actor, ctx))).message).toBe(words);
    }
  }
  mask.dispose();
});

it("a plugin's entry is asked for the same, and is the same each time", async () => {
  class Weighed implements AdvantageEstimator {
    readonly description = "Rewards times a weight.";
    readonly requires = ["weight"];
    #calls = 0;
    compute(input: AdvantageInput) {
      this.#calls++;
      return { advantages: input.token_level_rewards, returns: input.token_level_rewards };
    }
  }
  const entry = Object.freeze(new Weighed());
  registerAdvEst("weighed", entry);
  registerAdvEst("weighed", entry);
  expect((await calls("weighed", usual())).message).toContain('"weighed" was called without `weight`');
  const input = { ...usual(), weight: [1, 1] };
  const { advantages } = registries.adv_estimator.resolve("weighed").compute(input, config, ctx);
  expect(advantages).toBe(input.token_level_rewards);

  const provided = provide("policy_loss", "margined", loss({ requires: ["margins"] }));
  const plugin = definePlugin({ name: "verl-plugin-m", version: "1.0.0", verl: "*", provides: [provided] });
  registerPlugin(plugin);
  registerPlugin(plugin);
  registerPolicyLoss("margined", provided.entry);
  const fields = { log_probs: 1, old_log_probs: 1, advantages: 1, response_mask: 1 } as never;
  const { message } = await failure(() =>
    registries.policy_loss.resolve("margined").compute(fields, {} as never, {} as never),
  );
  expect(message).toContain('"margined" was called without `margins`');
});
