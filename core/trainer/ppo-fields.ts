import type { PpoConfig } from "../config/index.ts";
import { DataProto } from "../batch/data-proto.ts";
import { NdArray } from "../batch/nd-array.ts";
import { VerlError } from "../errors/index.ts";
import { checkRequires, registries } from "../registry/index.ts";

/** What adds a field to the batch that not every run has. */
const SUPPLIERS: Readonly<Record<string, string>> = {
  entropys:
    "set algorithm.rollout_correction.bypass_mode=false, so that old log-probs are recomputed, and entropy with them",
  ref_log_prob:
    "set actor_rollout_ref.actor.use_kl_loss=true or algorithm.use_kl_in_reward=true, which bring a reference policy",
  rollout_is_weights: "set algorithm.rollout_correction.rollout_is=token or sequence",
  rollout_log_probs: "set actor_rollout_ref.rollout.calculate_log_probs=true",
  sum_pi_squared: "set actor_rollout_ref.actor.calculate_sum_pi_squared=true",
  values: "set critic.enable=true",
};

/** Fields that every run has when advantages are computed. */
const ALWAYS = [
  "prompts",
  "responses",
  "input_ids",
  "attention_mask",
  "position_ids",
  "response_mask",
  "old_log_probs",
  "token_level_scores",
  "token_level_rewards",
  "unscored",
  "uid",
];

export const usesReference = ({ algorithm, actor_rollout_ref }: PpoConfig): boolean =>
  algorithm.use_kl_in_reward || actor_rollout_ref.actor.use_kl_loss;

/** True where the sampler's log-probs stand in for recomputed old ones. */
export const bypassesOldLogProbs = ({ algorithm, actor_rollout_ref }: PpoConfig): boolean =>
  algorithm.rollout_correction.bypass_mode || actor_rollout_ref.actor.use_rollout_log_probs;

export const keepsRolloutLogProbs = (config: PpoConfig): boolean =>
  config.actor_rollout_ref.rollout.calculate_log_probs || bypassesOldLogProbs(config);

/** Whether an estimator's values come from a critic: `critic.enable`, or, where that is null, because the estimator is `gae`. */
export const usesCritic = ({ critic, algorithm }: PpoConfig): boolean =>
  critic.enable ?? algorithm.adv_estimator === "gae";

/** Batch fields at the time of the advantage; after it there are `advantages` and `returns` too. */
export function fieldsOfRun(config: PpoConfig, columns: readonly string[]): Set<string> {
  const bypass = bypassesOldLogProbs(config);
  return new Set([
    ...ALWAYS,
    ...columns,
    ...(keepsRolloutLogProbs(config) ? ["rollout_log_probs"] : []),
    ...(usesReference(config) ? ["ref_log_prob"] : []),
    ...(usesCritic(config) ? ["values"] : []),
    ...(bypass ? [] : ["entropys"]),
    ...(!bypass && config.actor_rollout_ref.actor.calculate_sum_pi_squared ? ["sum_pi_squared"] : []),
  ]);
}

/**
 * Checks that the run will have every field that the chosen estimator, loss and `actor.select_keys` ask for.
 * @param columns of the dataset. @throws VERL_FIELD_MISSING, with what would supply the field.
 */
export function checkFields(config: PpoConfig, columns: readonly string[]): void {
  const { algorithm, actor_rollout_ref } = config;
  const { policy_loss, select_keys } = actor_rollout_ref.actor;
  const fields = fieldsOfRun(config, columns);
  checkRequires([registries.adv_estimator.find(algorithm.adv_estimator)], fields, SUPPLIERS);
  fields.add("advantages").add("returns");
  checkRequires([registries.policy_loss.find(policy_loss.loss_mode)], fields, SUPPLIERS);
  const unknown = select_keys.find((field) => !fields.has(field));
  if (unknown === undefined) return;
  throw new VerlError(
    "VERL_FIELD_MISSING",
    `actor_rollout_ref.actor.select_keys names "${unknown}", a batch field that this run will not have.`,
    {
      location: { path: "actor_rollout_ref.actor.select_keys" },
      hint: SUPPLIERS[unknown]
        ? `\`${unknown}\`: set ${SUPPLIERS[unknown]}`
        : `This run has ${[...fields].sort().join(", ")}.`,
    },
  );
}

/**
 * The batch with the named dataset columns as tensors, so that a loss can receive them: float32, rows × 1, which broadcasts over
 * tokens. @throws VERL_DATA_COLUMN_TYPE for a column that holds anything but numbers.
 */
export function withNumericColumns(batch: DataProto, names: readonly string[]): DataProto {
  const columns = names.filter((name) => !batch.batch.has(name) && batch.nonTensorBatch.has(name));
  if (columns.length === 0) return batch;
  const tensors = columns.map(
    (name) => [name, new NdArray("float32", [batch.length, 1], numbersOf(name, batch))] as const,
  );
  return new DataProto({
    batch: [...batch.batch, ...tensors],
    nonTensorBatch: [...batch.nonTensorBatch].filter(([name]) => !columns.includes(name)),
    metaInfo: batch.metaInfo,
  });
}

function numbersOf(name: string, batch: DataProto): Float32Array {
  return Float32Array.from(batch.column(name), (value, row) => {
    if (typeof value === "number" || typeof value === "boolean") return Number(value);
    throw new VerlError(
      "VERL_DATA_COLUMN_TYPE",
      `The loss needs the column "${name}" as numbers, but row ${row} holds ${JSON.stringify(value)}.`,
      {
        location: { path: "actor_rollout_ref.actor.select_keys" },
        hint: "A loss can receive numeric columns alone.",
      },
    );
  });
}
