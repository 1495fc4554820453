import {
  AnswerRewardManager,
  CONFIG,
  createScorer,
  inject,
  loadScoreFunctions,
  LOGGER,
  METRICS,
  OPTIONS,
  SCORE_FUNCTIONS,
  TOKENIZER,
  unscored,
  unscoredClass,
  type Answer,
  type AnswerRow,
  type Logger,
  type MetricsSink,
  type SampleReward,
  type Scored,
  type ScoredAnswer,
  type ScoreFunctions,
  type Scorer,
  type Tokenizer,
} from "verl";
import { requireFunctions } from "./functions-of-answers.ts";
import { poolOf, type PoolSettings } from "./pool-options.ts";
import type { FunctionConfig } from "./scorer-of.ts";

/** One of the named functions: where it comes from, as in `custom_reward_function`, and what its score counts. */
export interface PartOptions {
  path: string | null;
  name: string;
  reward_kwargs: Record<string, unknown>;
  weight: number;
  /** An answer that this function does not score keeps the sum of the others. */
  optional: boolean;
}

export interface MultiOptions extends PoolSettings {
  max_concurrent: number;
  functions: Readonly<Record<string, PartOptions>>;
}

interface Part extends PartOptions {
  /** Its name in the config, and in columns and metrics. */
  readonly key: string;
  readonly functions: ScoreFunctions;
}

/** The weighted sum of several score functions; each one's score is a part of the reward under its name. */
export class MultiRewardManager extends AnswerRewardManager {
  private loaded: Promise<{ parts: Part[]; scorer: Scorer }> | undefined;

  constructor(
    @inject(TOKENIZER) tokenizer: Tokenizer,
    @inject(SCORE_FUNCTIONS) private readonly own: ScoreFunctions,
    @inject(OPTIONS) private readonly options: MultiOptions,
    @inject(LOGGER) log: Logger,
    @inject(CONFIG) private readonly config: FunctionConfig,
    @inject(METRICS) metrics: MetricsSink,
  ) {
    super(tokenizer, log, metrics);
  }

  override async load(): Promise<void> {
    const { scorer } = await (this.loaded ??= this.openParts());
    await scorer.start();
  }

  override async dispose(): Promise<void> {
    const opened = await this.loaded?.catch(() => undefined);
    await opened?.scorer.dispose();
  }

  protected override async check(answers: readonly Answer[]): Promise<void> {
    await this.load();
    const { parts } = await this.loaded!;
    requireFunctions(answers, ...parts.map(({ functions }) => functions));
  }

  protected override async scoreAnswer(answer: Answer, _row: AnswerRow, signal?: AbortSignal): Promise<ScoredAnswer> {
    const { parts, scorer } = await this.loaded!;
    const { uid, ...input } = answer;
    const calls = parts.map((_part, of) => ({ of, input }));
    const scored = await scorer.run(calls, signal);
    const times = scored.map(({ seconds }, at) => ({ name: parts[at]!.key, uid, seconds }));
    return { ...sumOf(parts, scored), times };
  }

  /** Functions are read from the same folder as the run's own. */
  private async openParts(): Promise<{ parts: Part[]; scorer: Scorer }> {
    const directory = this.own.source?.directory ?? process.cwd();
    const parts: Part[] = [];
    for (const [key, { path, name, reward_kwargs, ...rest }] of Object.entries(this.options.functions)) {
      const section = `reward_model.reward_kwargs.functions.${key}`;
      const functions = await loadScoreFunctions({ path, name, reward_kwargs }, directory, section);
      parts.push({ key, path, name, reward_kwargs, ...rest, functions });
    }
    const scorer = createScorer(
      parts.map(({ functions }) => functions),
      {
        timeoutS: this.config.reward_model.timeout_s,
        maxConcurrent: this.options.max_concurrent,
        pool: poolOf(this.options, this.config),
      },
    );
    return { parts, scorer };
  }
}

function sumOf(parts: readonly Part[], scored: readonly Scored[]): Pick<ScoredAnswer, "reward" | "counts"> {
  const extra: SampleReward["extra"] = {};
  const counts: Record<string, number> = {};
  const notFinite: string[] = [];
  let total = 0;
  let present = 0;
  let missing: string | undefined;
  parts.forEach(({ key, weight, optional }, at) => {
    const reward = scored[at]!.rewards[0]!;
    for (const [name, value] of Object.entries(reward.extra)) extra[`${key}/${name}`] = value;
    if ("unscored" in reward) {
      extra[key] = null;
      counts[`reward/missing/${key}/count`] = 1;
      if (!optional) missing ??= `${unscoredClass(reward.unscored)}: ${key}: ${reward.unscored}`;
      return;
    }
    for (const name of reward.notFinite ?? []) notFinite.push(`${key}/${name}`);
    extra[key] = reward.score;
    total += weight * reward.score;
    present++;
  });
  if (missing !== undefined) return { reward: { unscored: missing, extra }, counts };
  if (present === 0) return { reward: unscored("error", "no part of the reward has a score", extra), counts };
  return { reward: { score: total, extra, ...(notFinite.length > 0 && { notFinite }) }, counts };
}
