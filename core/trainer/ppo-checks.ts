import { parseRejectionRules } from "../algorithm/rollout-correction/index.ts";
import { checkRunnable } from "../config/check-run.ts";
import type { PpoConfig } from "../config/index.ts";
import { knownValues } from "../config/known-values.ts";
import { VerlError } from "../errors/index.ts";
import { requireMachines } from "./require-machines.ts";
import { bypassesOldLogProbs, distributionUses, fieldsOfRun } from "./ppo-fields.ts";

/** Checks of a config that is valid by itself and cannot be run; nothing has been loaded yet. */
export function checkRun(config: PpoConfig): void {
  const [problem] = checkRunnable(knownValues(config), (path) => ({ path }));
  if (problem) throw new VerlError(problem.code, problem.message, problem);
  requireMachines(config);
  parseRejectionRules(config.algorithm.rollout_correction);
  checkDistributions(config);
}

/** A KL over the vocabulary in the reward compares with the old policy's distribution, which only recomputing it gives. */
function checkDistributions(config: PpoConfig): void {
  if (!distributionUses(config).inReward || !bypassesOldLogProbs(config)) return;
  throw new VerlError(
    "VERL_ALGORITHM_CONFIG",
    `\`algorithm.kl_penalty=${config.algorithm.kl_penalty}\` compares whole distributions, but the sampler's log-probs stand in for the old policy's, and it keeps those of sampled tokens alone.`,
    {
      location: { path: "algorithm.kl_penalty" },
      hint: "Set actor_rollout_ref.actor.use_rollout_log_probs=false and algorithm.rollout_correction.bypass_mode=false, or choose another estimator, such as low_var_kl.",
    },
  );
}

/** Columns of the data must not have names of fields that the run makes itself. @throws VERL_BATCH_CONFLICT */
export function checkColumns(config: PpoConfig, columns: readonly string[]): void {
  const own = fieldsOfRun(config, ["advantages", "returns"]);
  own.delete("uid");
  const taken = columns.find((column) => own.has(column));
  if (taken === undefined) return;
  throw new VerlError(
    "VERL_BATCH_CONFLICT",
    `The data has a column "${taken}", a name that the run gives to a field of its own.`,
    {
      location: { path: "data.train_files" },
      hint: "Rename the column.",
    },
  );
}
