import { drawByWeight, pfPpoWeights } from "../algorithm/pf-ppo.ts";
import type { DataProto } from "../batch/data-proto.ts";
import type { StepMetrics } from "./metrics/step-metrics.ts";
import type { PpoRun } from "./ppo-run.ts";

/**
 * The rows that actor and critic train on: as many as the batch has, drawn from it with replacement, by their scores. Rows without a
 * score and rows of which nothing is trained are not drawn. Metric: `pf_ppo/distinct_fraction`, the share of rows that were drawn at all.
 */
export function resampleByScore(run: PpoRun, batch: DataProto, step: number, metrics: StepMetrics): DataProto {
  const scores = batch.tensor("token_level_scores", "float32");
  const mask = batch.tensor("response_mask");
  const unscored = batch.tensor("unscored", "uint8").data;
  const sums = Float64Array.from({ length: batch.length }, (_, row) =>
    scores.row(row).data.reduce((sum, value) => sum + value, 0),
  );
  const left = (row: number): boolean =>
    unscored[row] === 1 || mask.row(row).data.every((flag: number | bigint) => Number(flag) === 0);
  const weights = pfPpoWeights(sums, run.config.algorithm.pf_ppo, left);
  const rows = drawByWeight(weights, run.rng.stream(`pf_ppo/${step}`));
  metrics.add("pf_ppo/distinct_fraction", new Set(rows).size / Math.max(rows.length, 1));
  return batch.index(rows);
}
