import { AgentParts } from "../agent/agent-parts.ts";
import type { PpoConfig } from "../config/index.ts";
import {
  checkRows,
  encodePrompt,
  findingOf,
  findLengths,
  findRefused,
  inferSchema,
  measurePrompts,
  Reasons,
  typeText,
  type CheckedRow,
  type Finding,
  type PromptTools,
  type Row,
  type Tokenizer,
} from "../data/index.ts";
import { isVerlError } from "../errors/index.ts";
import { ABORT_SIGNAL, CONFIG, createRunContainer, LOGGER, RNG, TOKENIZER } from "../registry/index.ts";
import { loadScoreFunctions, mapConcurrent, needsGroundTruth, type ScoreFunctions } from "../reward/index.ts";
import { createScorer } from "../reward/scorer.ts";
import { createRng } from "../tensor/rng.ts";
import { RunConsole } from "../trainer/run-console.ts";
import { defaultLoopOf } from "../trainer/workers/answer-prompts.ts";
import { loadRunTokenizer } from "../trainer/run-tokenizer.ts";
import type { CliContext } from "./command.ts";
import { spreadOf, type DataCheck } from "./data-check-report.ts";

export interface CheckPromptsOptions {
  file: string;
  config: PpoConfig;
  /** Whether the config names a model, so that there is a tokenizer. */
  hasModel: boolean;
  /** Column of answers to score. */
  answers: string | undefined;
  ctx: CliContext;
}

type Progress = (work: string) => (done: number, total: number) => void;

/** Answers that are scored at once. */
const AT_ONCE = 64;
/** Memory that the function of one process may take. */
const MEMORY_LIMIT_MB = 1024;
/** Answers whose scoring shows its progress. */
const MANY = 1000;

/** Checks prompts as `verl train` reads them. */
export async function checkPrompts(
  rows: readonly Row[],
  { file, config, hasModel, answers, ctx }: CheckPromptsOptions,
): Promise<DataCheck> {
  const { data } = config;
  const console = new RunConsole({
    stream: { write: (text) => ctx.status(text), isTTY: ctx.interactive, columns: process.stderr.columns },
  });
  const tokenizer = hasModel ? await loadRunTokenizer(config) : undefined;
  const { readable, findings } = checkRows(rows, {
    file,
    messagesKey: data.prompt_key,
    toolsKey: "tools",
    sourceKey: data.reward_fn_key,
    tools: await toolsOf(config, tokenizer, console),
    needsGroundTruth: needsGroundTruth(config),
  });
  const functions = await loadScoreFunctions(config.custom_reward_function, ctx.cwd);
  const progress: Progress = (work) => console.work(work);
  const measured = tokenizer && (await measure(readable, tokenizer, config, progress));
  const scoreable = withFunctions(readable, functions);
  const scored =
    answers === undefined ? undefined : await scoreAnswers(scoreable.rows, answers, functions, config, progress, ctx);
  return {
    file,
    rows: rows.length,
    columns: columnsOf(rows),
    tokens: measured?.tokens,
    scores: scored?.scores,
    findings: [...findings, ...(measured?.findings ?? []), ...scoreable.findings, ...(scored?.findings ?? [])],
    not_checked: [
      ...(tokenizer
        ? []
        : ["lengths and the chat template: name the model (-c run.yaml, or actor_rollout_ref.model.path=…)"]),
      ...(answers === undefined ? ["rewards: name a column of answers (--answers extra_info.answer)"] : []),
    ],
  };
}

/** Types of the columns, as far as the rows settle them. */
export function columnsOf(rows: readonly Row[]): Record<string, string> {
  const schema = inferSchema(rows, { mixed: "json" });
  return Object.fromEntries(Object.entries(schema).map(([name, type]) => [name, typeText(type)]));
}

/** The tools of the run, made as the run makes them. */
async function toolsOf(
  config: PpoConfig,
  tokenizer: Tokenizer | undefined,
  { logger }: RunConsole,
): Promise<PromptTools | undefined> {
  const path = config.data.tool_config_path;
  if (path === null) return undefined;
  const ended = new AbortController();
  const container = createRunContainer({
    [CONFIG]: config,
    [LOGGER]: logger,
    [RNG]: createRng(config.trainer.seed),
    [ABORT_SIGNAL]: ended.signal,
    ...(tokenizer && { [TOKENIZER]: tokenizer }),
  });
  const agents = new AgentParts(container, config, logger);
  try {
    return await agents.promptTools(path, defaultLoopOf(config));
  } finally {
    ended.abort();
    await agents.close();
  }
}

async function measure(
  rows: readonly CheckedRow[],
  tokenizer: Tokenizer,
  { data }: PpoConfig,
  progress: Progress,
): Promise<{ tokens: DataCheck["tokens"]; findings: Finding[] }> {
  const variables = data.apply_chat_template_kwargs;
  const limit = data.max_prompt_length;
  let lengths: Int32Array;
  let findings: Finding[] = [];
  try {
    lengths = await measurePrompts(
      tokenizer,
      rows.map(({ prompt }) => prompt),
      {
        variables,
        workers: data.filter_overlong_prompts_workers,
        onProgress: progress("measuring prompts"),
        fault: (_, error) => error,
      },
    );
  } catch (error) {
    if (!isVerlError(error)) throw error;
    ({ lengths, findings } = findRefused(rows, (prompt) => encodePrompt(tokenizer, prompt, variables).length));
  }
  const dropped = data.filter_overlong_prompts || data.truncation !== "error";
  return {
    tokens: { ...spreadOf(lengths.filter((length) => length >= 0)), limit },
    findings: [...findings, ...findLengths(rows, lengths, { limit, option: "data.max_prompt_length", dropped })],
  };
}

/** The rows whose data source has a score function. */
function withFunctions(
  rows: readonly CheckedRow[],
  functions: ScoreFunctions,
): { rows: CheckedRow[]; findings: Finding[] } {
  const without = new Map<string, { message: string; hint: string | undefined; at: number[] }>();
  const kept = rows.filter(({ at, dataSource }) => {
    const known = without.get(dataSource);
    if (known === undefined) {
      try {
        functions.get(dataSource);
        return true;
      } catch (error) {
        if (!isVerlError(error)) throw error;
        without.set(dataSource, { message: error.message, hint: error.hint, at: [at] });
      }
    } else known.at.push(at);
    return false;
  });
  const findings = [...without.values()].flatMap(({ message, hint, at }) =>
    findingOf("score_function", "error", at, message, hint),
  );
  return { rows: kept, findings };
}

/**
 * Scores answers that the data brings, so that a broken reward shows before a model answers; in processes, since a broken one may not end.
 */
async function scoreAnswers(
  rows: readonly CheckedRow[],
  column: string,
  functions: ScoreFunctions,
  config: PpoConfig,
  progress: Progress,
  ctx: CliContext,
): Promise<{ scores: DataCheck["scores"]; findings: Finding[] }> {
  const given = rows.flatMap((one) => {
    const answer = fieldAt(one.row, column);
    return typeof answer === "string" ? [{ ...one, answer }] : [];
  });
  const told = given.length < MANY ? undefined : progress("scoring answers");
  let done = 0;
  const { timeout_s: timeoutS, num_workers: workers } = config.reward_model;
  const pool = { workers, isolation: "process", memoryLimitMb: MEMORY_LIMIT_MB } as const;
  const scorer = createScorer([functions], { timeoutS, maxConcurrent: AT_ONCE, pool });
  const rewards = await mapConcurrent(
    given,
    AT_ONCE,
    async ({ row, dataSource, answer }) => {
      const input = {
        data_source: dataSource,
        solution_str: answer,
        ground_truth: (row.reward_model as { ground_truth?: unknown } | null | undefined)?.ground_truth,
        extra_info: { ...(row.extra_info as object | null), num_turns: 2, stop_reason: "stop" },
      };
      const [scored] = await scorer.run([{ of: 0, input }], ctx.signal);
      told?.((done += 1), given.length);
      return scored!.rewards[0]!;
    },
    ctx.signal,
  ).finally(() => scorer.dispose());
  const reasons = new Reasons();
  const scores: number[] = [];
  const low: number[] = [];
  rewards.forEach((reward, index) => {
    const { at } = given[index]!;
    if ("unscored" in reward) reasons.note(reward.unscored, at);
    else {
      scores.push(reward.score);
      if (reward.score <= 0) low.push(at);
    }
  });
  const missing = rows.filter((one) => typeof fieldAt(one.row, column) !== "string").map(({ at }) => at);
  return {
    scores: { ...spreadOf(scores), scored: scores.length, unscored: rewards.length - scores.length },
    findings: [
      ...reasons.findings("reward", (reason) => `The given answer has no score: ${reason}.`),
      ...findingOf(
        "reward",
        "warning",
        low,
        "The given answer scores 0 or less.",
        "Look whether the answer or the reward is wrong.",
      ),
      ...findingOf("answers", given.length === 0 ? "error" : "warning", missing, `There is no text at "${column}".`),
    ],
  };
}

function fieldAt(row: Row, path: string): unknown {
  return path.split(".").reduce<unknown>((value, key) => (value as Row | null | undefined)?.[key], row);
}
