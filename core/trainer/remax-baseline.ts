import { DataProto } from "../batch/data-proto.ts";
import { NdArray } from "../batch/nd-array.ts";
import { StepMetrics } from "./metrics/step-metrics.ts";
import { ANSWERS_GRACE_S, score, takeMetrics, untilStopped } from "./ppo-phases.ts";
import type { PpoRun } from "./ppo-run.ts";
import { Scoring } from "./scoring.ts";

/**
 * Adds `reward_baselines`, one number a row: the score of the greedy answer to the same prompt, by the same reward manager; NaN where
 * that answer has none. What agent loops and rewards report of greedy answers comes under `gen_max/`.
 * @param prompts each once. @param batch their sampled answers, in any order.
 */
export async function addGreedyBaselines(
  run: PpoRun,
  prompts: DataProto,
  batch: DataProto,
  step: number,
  metrics: StepMetrics,
): Promise<DataProto> {
  const aside = new StepMetrics();
  run.metrics.step = aside;
  try {
    const scoring = new Scoring(run, false);
    const generated = await untilStopped(run, ANSWERS_GRACE_S, (signal) =>
      scoring.generate(prompts, { step, greedy: true, signal }),
    );
    const answers = takeMetrics(generated, aside);
    const { batch: scored } = await score(run, answers, scoring, undefined, aside);
    const baselines = scoresByPrompt(scored);
    for (const value of baselines.values()) aside.add("score/mean", value);
    const rows = Float32Array.from(batch.column("uid"), (uid) => baselines.get(uid) ?? NaN);
    const reward_baselines = new NdArray("float32", [batch.length], rows);
    return batch.union(DataProto.fromSingleDict({ reward_baselines }));
  } finally {
    run.metrics.step = metrics;
    for (const [name, value] of Object.entries(aside.finish())) metrics.add(`gen_max/${name}`, value);
  }
}

/** The score of each prompt's answer; prompts whose answer has none are absent. */
function scoresByPrompt(answers: DataProto): Map<unknown, number> {
  const scores = answers.tensor("token_level_scores", "float32");
  const unscored = answers.tensor("unscored", "uint8").data;
  const rows = answers.column("uid").map((uid, row) => [uid, row] as const);
  return new Map(
    rows
      .filter(([, row]) => unscored[row] === 0)
      .map(([uid, row]) => [uid, scores.row(row).data.reduce((sum, value) => sum + value, 0)]),
  );
}
