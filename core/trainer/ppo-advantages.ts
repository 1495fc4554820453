import * as tf from "@tensorflow/tfjs";
import type { AdvantageConfig, AdvantageEstimator, AdvantageOutput } from "../algorithm/advantage-estimator.ts";
import { applyKlPenalty } from "../algorithm/kl-in-reward.ts";
import type { KlPenalty } from "../algorithm/kl-penalty.ts";
import { DataProto } from "../batch/data-proto.ts";
import { NdArray } from "../batch/nd-array.ts";
import { VerlError } from "../errors/index.ts";
import { learntMask } from "./learnt-mask.ts";
import type { StepMetrics } from "./metrics/step-metrics.ts";

/** The batch with `token_level_rewards` equal to its scores. */
export function rewardsFromScores(batch: DataProto): DataProto {
  return batch.union(DataProto.fromSingleDict({ token_level_rewards: batch.tensor("token_level_scores") }));
}

/**
 * The batch with `token_level_rewards` = scores − β · KL(old ‖ ref) on response tokens.
 * @returns also the step's mean KL a token.
 */
export async function rewardsWithKl(
  batch: DataProto,
  penalty: Pick<KlPenalty, "compute" | "over">,
  beta: number,
): Promise<{ batch: DataProto; kl: number }> {
  const scores = batch.tensor("token_level_scores", "float32");
  const perToken = await perTokenKl(batch, penalty);
  const { token_level_rewards, kl } = applyKlPenalty(scores, perToken, batch.tensor("response_mask"), beta);
  return { batch: batch.union(DataProto.fromSingleDict({ token_level_rewards })), kl };
}

async function perTokenKl(batch: DataProto, penalty: Pick<KlPenalty, "compute" | "over">): Promise<Float32Array> {
  const tensor = (field: string): tf.Tensor => {
    const { data, shape } = batch.tensor(field, "float32");
    return tf.tensor(data, [...shape]);
  };
  const [old, reference] =
    penalty.over === "vocabulary" ? ["old_log_softmax", "ref_log_softmax"] : ["old_log_probs", "ref_log_prob"];
  const kl = tf.tidy(() => penalty.compute(tensor(old), tensor(reference)));
  const values = (await kl.data()) as Float32Array;
  kl.dispose();
  const inputs = penalty.over === undefined ? [old, reference] : [];
  requireFinite("the KL", values, batch, inputs);
  return values;
}

/**
 * The batch with `advantages` and `returns`; the estimator sees the fields that every one sees, and those that it or its options name.
 * Rows that it learns nothing of lose their tokens in `response_mask`: those without a score and those that it skipped, as the
 * rejected ones have lost them already. So all of them leave the losses alike, denominators, entropy and KL included.
 * @param rejected 1 for rows that rollout correction rejected: to the estimator they are unscored.
 */
export function withAdvantages(
  batch: DataProto,
  estimator: AdvantageEstimator,
  config: AdvantageConfig,
  metrics: StepMetrics,
  rejected?: Uint8Array,
): DataProto {
  const mask = batch.tensor("response_mask", "int32");
  const { data } = batch.tensor("unscored", "uint8");
  const unscored = rejected ? data.map((flag, row) => flag | rejected[row]!) : data;
  const optional = batch.batch.has("rollout_is_weights") ? ["rollout_is_weights"] : [];
  const fields = [...(estimator.requires ?? []), ...(estimator.fieldsOf?.(config.adv_kwargs) ?? []), ...optional];
  const extra = fields.map((field): [string, unknown] => [
    field,
    batch.batch.has(field) ? batch.tensor(field) : batch.column(field),
  ]);
  const result = estimator.compute(
    {
      ...Object.fromEntries(extra),
      token_level_rewards: batch.tensor("token_level_rewards", "float32"),
      response_mask: new NdArray("float32", mask.shape, Float32Array.from(mask.data)),
      uid: batch.column("uid") as readonly string[],
      unscored,
    },
    config,
    { metric: (name, value) => metrics.add(name, value) },
  );
  const { advantages, returns, skipped } = checkedResult(result, batch);
  const response_mask = learntMask(mask, skipped ? unscored.map((flag, row) => flag | skipped[row]!) : unscored);
  return batch.union(DataProto.fromSingleDict({ advantages, returns, response_mask }), "replace");
}

/**
 * Estimators come from plugins.
 * @throws VERL_ALGORITHM_SHAPE for a result that is not one number a token, VERL_ALGORITHM_NOT_FINITE for NaN at an unmasked token.
 */
function checkedResult(result: Partial<AdvantageOutput> | undefined, batch: DataProto): AdvantageOutput {
  const { shape } = batch.tensor("response_mask");
  for (const name of ["advantages", "returns"] as const) {
    const got = result?.[name];
    if (got?.shape.join() === shape.join() && got.dtype === "float32") {
      requireFinite(`\`${name}\``, got.data, batch);
      continue;
    }
    const what = got === undefined ? "no array" : `${got.dtype}[${got.shape.join(", ")}]`;
    throw new VerlError(
      "VERL_ALGORITHM_SHAPE",
      `it returned ${what} as \`${name}\`, not float32[${shape.join(", ")}].`,
      {
        location: { path: "algorithm.adv_estimator" },
        hint: "Both results are NdArrays of float32, rows × response length; the conformance kit (`testAdvEst`) checks that.",
      },
    );
  }
  const { skipped } = result as AdvantageOutput;
  if (skipped === undefined || (skipped instanceof Uint8Array && skipped.length === batch.length))
    return result as AdvantageOutput;
  throw new VerlError("VERL_ALGORITHM_SHAPE", `it returned \`skipped\` that is not a Uint8Array of ${batch.length}.`, {
    location: { path: "algorithm.adv_estimator" },
    hint: "It has 1 for each row that took no part, and 0 for the others; leave it out where all did.",
  });
}

/** @param inputs batch fields whose values at that place are told. */
function requireFinite(
  what: string,
  values: ArrayLike<number>,
  batch: DataProto,
  inputs: readonly string[] = [],
): void {
  const mask = batch.tensor("response_mask");
  for (let at = 0; at < values.length; at++) {
    if (Number.isFinite(values[at]) || Number(mask.data[at]) === 0) continue;
    const [row, token] = [Math.floor(at / mask.rowSize), at % mask.rowSize];
    const from = inputs.map((name) => `${name} ${Number(batch.tensor(name).data[at])}`);
    throw new VerlError(
      "VERL_ALGORITHM_NOT_FINITE",
      `${what} is ${values[at]} at row ${row}, token ${token}${from.length > 0 ? ` (from ${from.join(" and ")})` : ""}.`,
      { details: { row, token } },
    );
  }
}
