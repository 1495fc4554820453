import type { DataProto } from "../batch/data-proto.ts";
import type { ClassEntry, EntryMeta } from "../registry/entry.ts";
import { classRegistrar, type ClassRegistrar } from "../registry/register.ts";

/** Result for one sample. A failure is never a silent zero: it is `unscored`, with the reason. */
export type SampleReward =
  | {
      score: number;
      extra: Record<string, number | string | boolean | null>;
      /** Parts that were NaN or infinite, which `extra` holds as null; each is counted as `reward/not_finite/…`. */
      notFinite?: readonly string[];
    }
  | { unscored: string; extra: Record<string, number | string | boolean | null> };

/**
 * Scores a batch that holds `responses`, `response_mask` and the dataset's columns; one result a row, in order.
 *
 *     @RewardManager.register("my_manager", { description: "…" })
 *     class MyManager extends RewardManager { … }
 */
export abstract class RewardManager {
  static readonly register: ClassRegistrar<"reward_manager"> = classRegistrar("reward_manager");

  /** Called once before the first batch, where a manager has it: what it needs is read and checked here. */
  load?(): Promise<void>;

  abstract score(batch: DataProto, options: { validate: boolean; signal?: AbortSignal }): Promise<SampleReward[]>;

  /**
   * Where a manager needs no more than an answer to score it: begins a batch whose rows come one by one, as their trajectories end, while
   * others are still being sampled. The trainer calls it in place of `score`; the rewards are the same. `AnswerRewardManager` has it.
   * @param options.signal ends it: nothing more is scored.
   */
  open?(options: { validate: boolean; signal: AbortSignal }): RewardSession;

  /** Called once at the run's end, where a manager has it: frees what it holds. */
  dispose?(): Promise<void>;
}

/** Scores the rows of one batch as they come. */
export interface RewardSession {
  /** Begins to score a row, a batch of one as the whole batch will have it. What scoring it fails by, `end` tells. */
  add(row: DataProto): void;
  /**
   * Waits for the rewards.
   * @param order the rows of the batch, each by how many were added before it; others were given up, and count nowhere.
   * @returns one reward a row, in that order. @throws the reason of the session's signal
   */
  end(order: readonly number[]): Promise<SampleReward[]>;
}

/** What a score function (`custom_reward_function`, or a `reward_score` entry) receives; named arguments only. */
export interface ScoreInput {
  data_source: string;
  solution_str: string;
  ground_truth: unknown;
  /** The row's `extra_info`, with `num_turns` and `stop_reason` of the answer added. */
  extra_info: Record<string, unknown>;
  /** Aborts when the run ends or the sample's deadline passes. */
  signal?: AbortSignal;
  /** `custom_reward_function.reward_kwargs`. */
  [kwarg: string]: unknown;
}

/** A number, or an object with `score` and further parts, each numeric one of which becomes a metric. */
export type ScoreResult = number | boolean | ({ score: number } & Record<string, unknown>);
/** Scores one sample. */
export type ScoreFunction = (input: ScoreInput) => ScoreResult | Promise<ScoreResult>;

/** A score function for the rows whose `data_source` is its key or one of its aliases. Its options are named arguments of each call. */
export interface RewardScore extends EntryMeta {
  readonly score: ScoreFunction;
  /** It also scores rows whose `data_source` starts with one of these, unless that is a key or an alias. */
  readonly dataSourcePrefixes?: readonly string[];
}

/** Entry of a reward manager. */
export interface RewardManagerEntry extends ClassEntry<RewardManager> {
  /** It hands `reward_model.ground_truth` to the registered score functions; datasets then make sure that each row has one. */
  readonly readsGroundTruth?: boolean;
  /** Its scores depend on how many tokens an answer has. */
  readonly readsLengths?: boolean;
}

declare module "../registry/entry.ts" {
  interface EntryOf {
    reward_score: RewardScore;
    reward_manager: RewardManagerEntry;
  }
}
