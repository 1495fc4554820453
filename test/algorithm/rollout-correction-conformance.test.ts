import { join } from "node:path";
import { describe } from "@jest/globals";
import { loadPlugins } from "../../core/registry/index.ts";
import { testPolicyLoss } from "../../core/testing/index.ts";

await loadPlugins([]);

const cases = join(import.meta.dirname, "../parity/policy_loss.json");

/** The kit's own run takes the default options, which correct nothing. */
describe.each([
  [
    "ppo_clip with rejection by token and answer",
    { rollout_rs: "token_k1,seq_mean_k3", rollout_rs_threshold: "2,0.3" },
  ],
  [
    "reinforce with normalised weights and rejection by answer",
    {
      loss_type: "reinforce",
      rollout_is: "sequence",
      rollout_is_batch_normalize: true,
      rollout_rs: "seq_max_k2",
      rollout_rs_threshold: 0.5,
    },
  ],
])("%s", (_, rollout_correction) => testPolicyLoss("bypass_mode", { cases, options: { rollout_correction } }));
