import { parseRejectionRules } from "../algorithm/rollout-correction/index.ts";
import type { PpoConfig } from "../config/index.ts";
import { VerlError } from "../errors/index.ts";
import { registries } from "../registry/index.ts";
import { bypassesOldLogProbs, distributionUses, fieldsOfRun } from "./ppo-fields.ts";

/** Checks of a config that is valid by itself and cannot be run; nothing has been loaded yet. */
export function checkRun(config: PpoConfig): void {
  checkGroups(config);
  checkValidation(config);
  parseRejectionRules(config.algorithm.rollout_correction);
  checkDistributions(config);
  const asked = UNAVAILABLE.find(({ isAsked }) => isAsked(config));
  if (!asked) return;
  throw new VerlError(
    "VERL_TRAIN_UNAVAILABLE",
    `\`${asked.path}\` asks for ${asked.what}, which this version does not have.`,
    {
      location: { path: asked.path },
      hint: `Leave \`${asked.path}\` at its default.`,
    },
  );
}

/** Keys of the config whose feature is still to come: silence would train something else than was asked for. */
const UNAVAILABLE: readonly { path: string; what: string; isAsked: (config: PpoConfig) => boolean }[] = [
  {
    path: "data.gen_batch_size",
    what: "generation batches of another size than a step's outside dynamic sampling",
    isAsked: ({ algorithm, data }) =>
      !algorithm.filter_groups.enable && (data.gen_batch_size ?? data.train_batch_size) !== data.train_batch_size,
  },
];

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

/** A run that only validates needs something to validate. */
function checkValidation({ trainer, data }: PpoConfig): void {
  if (!trainer.val_only || data.val_files.length > 0) return;
  throw new VerlError("VERL_DATA_EMPTY", "`trainer.val_only` is true, but `data.val_files` names no file.", {
    location: { path: "data.val_files" },
    hint: "Name the validation files, or set trainer.val_only=false.",
  });
}

/** An estimator that compares a prompt's answers needs more than one of them. */
function checkGroups({ algorithm, actor_rollout_ref: { rollout } }: PpoConfig): void {
  const { entry, key } = registries.adv_estimator.find(algorithm.adv_estimator);
  if (!entry.needsGroups || rollout.n > 1) return;
  throw new VerlError(
    "VERL_TRAIN_NEEDS_GROUPS",
    `The advantage estimator "${key}" compares the answers to a prompt, but \`actor_rollout_ref.rollout.n\` is 1.`,
    {
      location: { path: "actor_rollout_ref.rollout.n" },
      hint: "Set actor_rollout_ref.rollout.n to 2 or more (8 is usual), or choose an estimator that takes one answer a prompt.",
    },
  );
}
