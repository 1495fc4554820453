import {
  CONFIG,
  createScorer,
  inject,
  loadScoreFunctions,
  LOGGER,
  METRICS,
  OPTIONS,
  readAnswers,
  reportTimes,
  reportUnscored,
  RewardManager,
  SCORE_FUNCTIONS,
  TOKENIZER,
  unscored,
  unscoredClass,
  type DataProto,
  type Logger,
  type MetricsSink,
  type SampleReward,
  type Scored,
  type ScoreFunctions,
  type Scorer,
  type Tokenizer,
} from "verl";
import type { FunctionConfig } from "./function-manager.ts";
import { requireFunctions } from "./functions-of-answers.ts";
import { poolOf, type PoolSettings } from "./pool-options.ts";

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
export class MultiRewardManager extends RewardManager {
  private loaded: Promise<{ parts: Part[]; scorer: Scorer }> | undefined;

  constructor(
    @inject(TOKENIZER) private readonly tokenizer: Tokenizer,
    @inject(SCORE_FUNCTIONS) private readonly own: ScoreFunctions,
    @inject(OPTIONS) private readonly options: MultiOptions,
    @inject(LOGGER) private readonly log: Logger,
    @inject(CONFIG) private readonly config: FunctionConfig,
    @inject(METRICS) private readonly metrics: MetricsSink,
  ) {
    super();
  }

  override async load(): Promise<void> {
    const { scorer } = await (this.loaded ??= this.open());
    await scorer.start();
  }

  override async dispose(): Promise<void> {
    const opened = await this.loaded?.catch(() => undefined);
    await opened?.scorer.dispose();
  }

  async score(batch: DataProto, { signal }: { validate: boolean; signal?: AbortSignal }): Promise<SampleReward[]> {
    await this.load();
    const { parts, scorer } = await this.loaded!;
    const answers = readAnswers(batch, this.tokenizer);
    requireFunctions(answers, ...parts.map(({ functions }) => functions));
    const calls = answers.flatMap(({ uid: _, ...input }) => parts.map((_part, of) => ({ of, input })));
    const scored = await scorer.run(calls, signal);
    const rewards = answers.map((_, row) => this.sum(parts, scored.slice(row * parts.length)));
    reportUnscored(this.log, rewards, answers);
    const times = scored.map(({ seconds }, at) => ({
      name: parts[at % parts.length]!.key,
      uid: answers[Math.floor(at / parts.length)]!.uid,
      seconds,
    }));
    reportTimes(this.metrics, this.log, times);
    return rewards;
  }

  /** Functions are read from the same folder as the run's own. */
  private async open(): Promise<{ parts: Part[]; scorer: Scorer }> {
    const directory = this.own.source?.directory ?? process.cwd();
    const parts: Part[] = [];
    for (const [key, { path, name, reward_kwargs, ...rest }] of Object.entries(this.options.functions)) {
      const functions = await loadScoreFunctions({ path, name, reward_kwargs }, directory);
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

  private sum(parts: readonly Part[], scored: readonly Scored[]): SampleReward {
    const extra: SampleReward["extra"] = {};
    const notFinite: string[] = [];
    let total = 0;
    let present = 0;
    let missing: string | undefined;
    parts.forEach(({ key, weight, optional }, at) => {
      const reward = scored[at]!.rewards[0]!;
      for (const [name, value] of Object.entries(reward.extra)) extra[`${key}/${name}`] = value;
      if ("unscored" in reward) {
        extra[key] = null;
        this.metrics.add(`reward/missing/${key}/count`, 1);
        if (!optional) missing ??= `${unscoredClass(reward.unscored)}: ${key}: ${reward.unscored}`;
        return;
      }
      for (const name of reward.notFinite ?? []) notFinite.push(`${key}/${name}`);
      extra[key] = reward.score;
      total += weight * reward.score;
      present++;
    });
    if (missing !== undefined) return { unscored: missing, extra };
    if (present === 0) return unscored("error", "no part of the reward has a score", extra);
    return { score: total, extra, ...(notFinite.length > 0 && { notFinite }) };
  }
}
