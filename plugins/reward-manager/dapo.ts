import {
  CONFIG,
  inject,
  LOGGER,
  METRICS,
  OPTIONS,
  SCORE_FUNCTIONS,
  TOKENIZER,
  VerlError,
  type Answer,
  type AnswerRow,
  type Logger,
  type MetricsSink,
  type PpoConfig,
  type SampleReward,
  type ScoredAnswer,
  type ScoreFunctions,
  type Tokenizer,
} from "verl";
import { NaiveRewardManager } from "./naive.ts";
import type { FunctionOptions } from "./scorer-of.ts";

export interface OverlongBuffer {
  enable: boolean;
  /** Tokens before the limit in which the punishment grows. */
  len: number;
  /** Punishment at the limit. */
  penalty_factor: number;
  /** Report it as a part of the reward. */
  log: boolean;
}

export interface DapoOptions extends FunctionOptions {
  /** null: `actor_rollout_ref.rollout.response_length`. */
  max_resp_len: number | null;
  overlong_buffer_cfg: OverlongBuffer;
}

/**
 * Naive scoring, and DAPO's soft overlong punishment: an answer of L tokens out of at most M loses
 *
 *     factor · min(max(L − (M − len), 0) / len, 1)
 *
 * Each answer has the part `acc`, its score before that, where the score function reports none: dynamic sampling compares it.
 */
export class DapoRewardManager extends NaiveRewardManager {
  private readonly buffer: OverlongBuffer;
  private readonly limit: number;

  constructor(
    @inject(TOKENIZER) tokenizer: Tokenizer,
    @inject(SCORE_FUNCTIONS) functions: ScoreFunctions,
    @inject(OPTIONS) options: DapoOptions,
    @inject(LOGGER) log: Logger,
    @inject(CONFIG) config: PpoConfig,
    @inject(METRICS) metrics: MetricsSink,
  ) {
    super(tokenizer, functions, options, log, config, metrics);
    this.buffer = options.overlong_buffer_cfg;
    this.limit = options.max_resp_len ?? config.actor_rollout_ref.rollout.response_length;
    if (this.buffer.enable && this.buffer.len > this.limit) throw tooLong(this.buffer.len, this.limit);
  }

  protected override async scoreAnswer(answer: Answer, row: AnswerRow, signal?: AbortSignal): Promise<ScoredAnswer> {
    const scored = await super.scoreAnswer(answer, row, signal);
    const { reward } = scored;
    return "unscored" in reward ? scored : { ...scored, reward: this.punish(reward, row.length) };
  }

  private punish({ score, extra, ...rest }: Extract<SampleReward, { score: number }>, length: number): SampleReward {
    const { enable, len, penalty_factor, log } = this.buffer;
    const parts = { acc: score, ...extra };
    if (!enable) return { ...rest, score, extra: parts };
    const over = Math.min(Math.max(length - (this.limit - len), 0) / len, 1);
    // Not −0, which would print as such.
    const overlong_reward = over > 0 ? -over * penalty_factor : 0;
    return {
      ...rest,
      score: score + overlong_reward,
      extra: log ? { ...parts, overlong_reward, overlong: over > 0 } : parts,
    };
  }
}

function tooLong(len: number, limit: number): VerlError {
  const path = "reward_model.reward_kwargs.overlong_buffer_cfg.len";
  return new VerlError("VERL_OPTIONS_INVALID", `\`${path}\` is ${len}, more than the ${limit} tokens of an answer.`, {
    location: { path },
    hint: `Set it to at most ${limit}, or raise max_resp_len.`,
  });
}
