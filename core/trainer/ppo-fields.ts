import { resolveKlPenalty } from "../algorithm/straight-through.ts";
import type { PpoConfig } from "../config/index.ts";
import { usesCritic } from "../config/uses-critic.ts";
import { DataProto } from "../batch/data-proto.ts";
import { NdArray } from "../batch/nd-array.ts";
import { VerlError } from "../errors/index.ts";
import { checkRequires, OPTIONAL_FIELDS, registries, resolveOptions } from "../registry/index.ts";

/** Fields that every run has when advantages are computed. */
const ALWAYS = [
  "prompts",
  "responses",
  "input_ids",
  "attention_mask",
  "position_ids",
  "response_mask",
  "rollout_log_probs",
  "old_log_probs",
  "token_level_scores",
  "token_level_rewards",
  "unscored",
  "uid",
];

export const usesReference = ({ algorithm, actor_rollout_ref }: PpoConfig): boolean =>
  algorithm.use_kl_in_reward || actor_rollout_ref.actor.use_kl_loss;

/** Where the KL estimator compares whole distributions: the reward's needs the old policy's, both need the reference's. */
export const distributionUses = ({ algorithm, actor_rollout_ref: { actor } }: PpoConfig) => ({
  inReward: algorithm.use_kl_in_reward && resolveKlPenalty(algorithm.kl_penalty).over === "vocabulary",
  inLoss: actor.use_kl_loss && resolveKlPenalty(actor.kl_loss_type).over === "vocabulary",
});

/** True where the sampler's log-probs stand in for recomputed old ones. */
export const bypassesOldLogProbs = ({ algorithm, actor_rollout_ref }: PpoConfig): boolean =>
  algorithm.rollout_correction.bypass_mode || actor_rollout_ref.actor.use_rollout_log_probs;

/** Whether the advantage estimator compares answers with the greedy one to the same prompt, as ReMax does. */
export const usesGreedyBaseline = ({ algorithm }: PpoConfig): boolean =>
  registries.adv_estimator.resolve(algorithm.adv_estimator).requires?.includes("reward_baselines") ?? false;

/** Batch fields at the time of the advantage; after it there are `advantages` and `returns` too. */
export function fieldsOfRun(config: PpoConfig, columns: readonly string[]): Set<string> {
  const bypass = bypassesOldLogProbs(config);
  return new Set([
    ...ALWAYS,
    ...columns,
    ...(usesReference(config) ? ["ref_log_prob"] : []),
    ...(usesCritic(config) ? ["values"] : []),
    ...(usesGreedyBaseline(config) ? ["reward_baselines"] : []),
    ...(bypass ? [] : ["entropys"]),
    ...(!bypass && config.algorithm.rollout_correction.rollout_is !== null ? ["rollout_is_weights"] : []),
    ...(!bypass && config.actor_rollout_ref.actor.calculate_sum_pi_squared ? ["sum_pi_squared"] : []),
  ]);
}

/**
 * Checks before anything starts that the chosen estimator and loss will have their fields. Fields that a reward or an agent loop may
 * bring are unknown until there is a batch; `checkBatchFields` looks at those.
 * @param columns of the dataset. @throws VERL_FIELD_MISSING, with what would supply the field.
 */
export function checkFields(config: PpoConfig, columns: readonly string[]): void {
  const asked = [...inUse(config).flatMap(({ entry }) => entry.requires ?? []), ...selectKeys(config)];
  checkAvailable(config, fieldsOfRun(config, [...columns, ...asked.filter((field) => !(field in OPTIONAL_FIELDS))]));
}

/** The same for a batch that has its rewards, before the first update. */
export function checkBatchFields(config: PpoConfig, batch: DataProto): void {
  checkAvailable(config, fieldsOfRun(config, [...batch.batch.keys(), ...batch.nonTensorBatch.keys()]));
}

const inUse = ({ algorithm, actor_rollout_ref: { actor } }: PpoConfig) => {
  const estimator = registries.adv_estimator.find(algorithm.adv_estimator);
  const options = resolveOptions("adv_estimator", algorithm.adv_estimator, algorithm.adv_kwargs);
  const { requires = [] } = estimator.entry;
  const named = estimator.entry.fieldsOf?.(options) ?? [];
  return [
    { ...estimator, entry: { ...estimator.entry, requires: [...requires, ...named] } },
    registries.policy_loss.find(actor.policy_loss.loss_mode),
  ];
};

const selectKeys = ({ actor_rollout_ref: { actor } }: PpoConfig): readonly string[] => actor.select_keys;

function checkAvailable(config: PpoConfig, fields: Set<string>): void {
  const [estimator, loss] = inUse(config);
  checkRequires([estimator!], fields, OPTIONAL_FIELDS);
  fields.add("advantages").add("returns");
  checkRequires([loss!], fields, OPTIONAL_FIELDS);
  const missing = selectKeys(config).find((field) => !fields.has(field));
  if (missing === undefined) return;
  throw new VerlError(
    "VERL_FIELD_MISSING",
    `actor.select_keys names the batch field "${missing}", which this run does not have.`,
    {
      location: { path: "actor_rollout_ref.actor.select_keys" },
      hint: OPTIONAL_FIELDS[missing]
        ? `\`${missing}\`: ${OPTIONAL_FIELDS[missing]}`
        : `A dataset column, a part of the reward or an agent loop's extra field would supply it. The run has ${[...fields].sort().join(", ")}.`,
    },
  );
}

/**
 * The batch with the named dataset columns as tensors, so that a loss can receive them: float32, one value a row. @throws VERL_DATA_COLUMN_TYPE for a column that holds anything but numbers.
 */
export function withNumericColumns(batch: DataProto, names: readonly string[]): DataProto {
  const columns = names.filter((name) => !batch.batch.has(name) && batch.nonTensorBatch.has(name));
  if (columns.length === 0) return batch;
  const tensors = columns.map(
    (name) => [name, new NdArray("float32", [batch.length], numbersOf(name, batch))] as const,
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
