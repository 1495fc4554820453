import { DataProto } from "../batch/data-proto.ts";
import type { StepMetrics } from "./metrics/step-metrics.ts";
import { nameValidationMetrics, processValidationMetrics } from "./metrics/index.ts";
import type { Tokenizer } from "../data/tokenizer.ts";
import { pickValidation } from "./rollout-log/rollout-rows.ts";
import { collate, score, takeMetrics, type Scored } from "./ppo-phases.ts";
import type { RewardColumns } from "./ppo-rewards.ts";
import type { PpoRun } from "./ppo-run.ts";
import { Scoring } from "./scoring.ts";

/**
 * Answers the validation prompts, `data.val_batch_size` at a time, each `val_kwargs.n` times, and scores the answers.
 * @param signal gives it up; the signal's reason is thrown.
 */
export async function answerValidation(
  run: PpoRun,
  step: number,
  metrics: StepMetrics,
  signal: AbortSignal,
): Promise<Scored> {
  const { validation, config } = run;
  const rows = Int32Array.from({ length: validation!.length }, (_, row) => row);
  const order = config.data.validation_shuffle ? run.rng.stream(`data/validation/${step}`).shuffle(rows) : rows;
  const all = collate(run, validation!, order, "validation");
  const scoring = new Scoring(run, true);
  const answers: DataProto[] = [];
  for (const prompts of all.split(config.data.val_batch_size ?? all.length)) {
    const repeated = prompts.repeat(config.actor_rollout_ref.rollout.val_kwargs.n);
    const part = await scoring.generate(repeated, { step, signal });
    answers.push(takeMetrics(part, metrics));
  }
  return score(run, joinAnswers(answers), scoring, signal, metrics);
}

/** Parts may differ in the columns that their agent loops filled; what a part lacks is null. */
export function joinAnswers(parts: readonly DataProto[]): DataProto {
  const columns = new Set(parts.flatMap((part) => [...part.nonTensorBatch.keys()]));
  return DataProto.concat(
    parts.map((part) => {
      const missing = [...columns].filter((column) => !part.nonTensorBatch.has(column));
      const nulls = missing.map((column) => [column, new Array<unknown>(part.length).fill(null)]);
      return part.union(DataProto.fromSingleDict(Object.fromEntries(nulls) as Record<string, unknown[]>));
    }),
  );
}

/**
 * verl's validation metrics: `val-core/…`, `val-aux/…`. An answer without a score is left out of its prompt.
 * @param reported what agent loops and rewards reported meanwhile; it comes under `val-aux/` too.
 */
export function validationMetrics({ batch, columns }: Scored, reported: StepMetrics): Record<string, number> {
  const sources = batch.column("data_source") as readonly string[];
  const uids = batch.column("uid") as readonly string[];
  const turns = batch.column("__num_turns__") as readonly number[];
  const infos = { reward: rowScores(columns), ...columns.parts };
  const aside = Object.entries(reported.finish()).map(([name, value]) => [`val-aux/${name}`, value]);
  return {
    ...(Object.fromEntries(aside) as Record<string, number>),
    ...nameValidationMetrics(processValidationMetrics(sources, uids, infos)),
    "val-aux/num_turns/min": turns.reduce((least, value) => Math.min(least, value), Infinity),
    "val-aux/num_turns/max": turns.reduce((most, value) => Math.max(most, value), -Infinity),
    "val-aux/num_turns/mean": turns.reduce((sum, value) => sum + value, 0) / turns.length,
  };
}

/** A few answers as lines for the terminal: the same prompts each time, so that one sees them change. */
export function showAnswers({ batch, columns }: Scored, count: number, tokenizer: Tokenizer): string[] {
  if (count === 0) return [];
  const scores = rowScores(columns);
  const text = (field: "prompts" | "responses", row: number): string => {
    const ids = Array.from(batch.tensor(field, "int32").row(row).data).filter((id) => id !== tokenizer.padTokenId);
    return tokenizer.decode(ids, { skipSpecialTokens: true });
  };
  return pickValidation(batch, count, tokenizer).map(
    (row) => `  ${text("prompts", row)} → ${text("responses", row)}  (${scores[row] ?? "no score"})`,
  );
}

/** Each row's score; null where it has none. */
function rowScores({ token_level_scores: scores, unscored }: RewardColumns): (number | null)[] {
  return Array.from(unscored.data, (flag, row) =>
    flag === 1 ? null : scores.row(row).data.reduce((sum, value) => sum + value, 0),
  );
}
