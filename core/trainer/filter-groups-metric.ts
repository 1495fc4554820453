import type { DataProto } from "../batch/data-proto.ts";
import { VerlError } from "../errors/index.ts";
import { StepMetrics } from "./metrics/step-metrics.ts";
import { rewardsWithKl } from "./ppo-advantages.ts";
import { addOldLogProbs, addReferenceLogProbs } from "./ppo-phases.ts";
import type { RewardColumns } from "./ppo-rewards.ts";
import type { PpoRun } from "./ppo-run.ts";

/** Names of the score itself. */
const SCORE = ["score", "seq_reward"];

/**
 * What `algorithm.filter_groups.metric` compares, one value a row: the score (null, `score`, `seq_reward`), the reward less its KL
 * penalty (`seq_final_reward`), or a part of the reward or column of the data by name. null for answers without a score or a number.
 * @throws VERL_FIELD_MISSING for a name that nothing has.
 */
export async function groupMetric(
  run: PpoRun,
  batch: DataProto,
  { unscored, parts }: RewardColumns,
): Promise<(number | null)[]> {
  const { metric } = run.config.algorithm.filter_groups;
  const values = await valuesOf(metric ?? "score");
  return Array.from(unscored.data, (flag, row) => (flag === 1 ? null : numeric(values[row])));

  async function valuesOf(name: string): Promise<readonly unknown[]> {
    if (SCORE.includes(name)) return rowSums(batch, "token_level_scores");
    if (name === "seq_final_reward") return finalRewards(run, batch);
    const column = parts[name] ?? batch.nonTensorBatch.get(name);
    if (column) return column;
    const own = Object.keys(parts);
    throw new VerlError("VERL_FIELD_MISSING", `No answer has the metric "${name}" that dynamic sampling compares.`, {
      location: { path: "algorithm.filter_groups.metric" },
      hint: `It is score, seq_reward, seq_final_reward or a part of the reward; the reward's parts are ${own.join(", ") || "none"}. The reward manager \`dapo\` adds acc.`,
    });
  }
}

/** The KL penalty needs log-probs, which are computed again for the groups that are kept. */
async function finalRewards(run: PpoRun, batch: DataProto): Promise<number[]> {
  if (!run.klInReward) return rowSums(batch, "token_level_scores");
  const { penalty, control } = run.klInReward;
  const logged = await addReferenceLogProbs(run, await addOldLogProbs(run, batch, new StepMetrics()));
  return rowSums((await rewardsWithKl(logged, penalty, control.value)).batch, "token_level_rewards");
}

function rowSums(batch: DataProto, field: string): number[] {
  const matrix = batch.tensor(field, "float32");
  return Array.from({ length: batch.length }, (_, row) => matrix.row(row).data.reduce((sum, value) => sum + value, 0));
}

function numeric(value: unknown): number | null {
  const number = typeof value === "boolean" ? Number(value) : value;
  return typeof number === "number" && Number.isFinite(number) ? number : null;
}
