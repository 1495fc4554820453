import { DataProto } from "../batch/data-proto.ts";
import type { ChatMessage } from "../data/tokenizer.ts";
import type { RolloutEngine, SamplingParams } from "../engine/rollout-engine.ts";
import type { Logger } from "../registry/logger.ts";
import type { MetricsSink } from "../registry/metrics-sink.ts";
import { mapConcurrent } from "../reward/map-concurrent.ts";
import type { Rng } from "../tensor/rng.ts";
import type { AgentLoop, AgentSample } from "./agent-loop.ts";
import { assembleTrajectories, type AssembleOptions } from "./assemble.ts";
import { Attempts } from "./loop-attempts.ts";
import { allFailed, byCause, dropMetrics, reportFailures } from "./loop-failures.ts";
import { LongWaits } from "./long-waits.ts";
import { loopMetrics } from "./loop-metrics.ts";
import { agentOf } from "./row-fields.ts";
import type { RolloutTracer } from "./tracing/rollout-tracer.ts";
import type { Trajectory } from "./trajectory.ts";

export interface LoopRunnerOptions extends AssembleOptions {
  rollout: RolloutEngine;
  /** Constructs the loop of a key, once a key: `(key) => container.create("agent_loop", key)`. */
  createLoop: (key: string) => AgentLoop;
  /** Loop of rows without `agent_name`: `rollout.agent.default_agent_loop`. */
  defaultLoop: string;
  log: Logger;
  /** Where `ctx.metric` of the loops goes. */
  metrics?: MetricsSink;
  /** Loops under way at once: `rollout.agent.max_concurrent`. Default: 10,000. */
  maxConcurrent?: number;
  /** Further attempts for a row whose loop failed, each from the start: `rollout.agent.max_retries`. Default: 2. */
  maxRetries?: number;
  /** Seconds before the first further attempt; each one after it waits twice as long, a minute at most. Default: 0.1. */
  retryDelay?: number;
  /**
   * Seconds that one attempt may take: `rollout.agent.sample_timeout_s`. Default: no limit. However an attempt is ended early, its loop
   * has two seconds to end too; one that does not is left to itself, and counts in `agent_loop/abandoned_loops`.
   */
  timeout?: number | null;
  /** Traces some of the answers. Default: none. */
  tracer?: RolloutTracer;
}

export interface LoopRunOptions {
  /** The token limit is the runner's, the seed each row's own. */
  sampling: Omit<SamplingParams, "seed" | "max_tokens">;
  /** A stream of this step's own, `rng.stream("rollout/12")`: row i's seed is its i-th draw, whatever finishes first. */
  rng: Rng;
  validate: boolean;
  signal: AbortSignal;
  /** The step's number, for traces. */
  step?: number;
  /**
   * Told of each answer as its trajectory ends, while others still run: a batch of one row, as the whole batch will have it, but for
   * columns that only other answers have. An answer that it was told of is left out of the whole batch when its group is dropped.
   */
  onTrajectory?: (row: DataProto) => void;
}

export interface LoopRunResult {
  /** The answers, with every column of the rows they answer. */
  batch: DataProto;
  /** Rows of the given batch that have an answer, ascending; all of them unless groups were dropped. */
  keptRows: Int32Array;
  /** `agent_loop/…` of this run. */
  metrics: Record<string, number>;
}

/**
 * Runs an agent loop for every row of a generation batch, all at once up to a bound, and lays the answers out as verl's batch.
 * A row that fails is tried again with another seed; when it keeps failing, its whole group (the rows of its `uid`) is dropped and
 * counted, so that no group is compared with a part of itself.
 */
export class LoopRunner {
  private readonly loops = new Map<string, AgentLoop>();
  /** What loops prepare, by key, of those that prepare anything. */
  private readonly preparing = new Map<string, Promise<void>>();

  private readonly waits: LongWaits;

  constructor(private readonly options: LoopRunnerOptions) {
    this.waits = new LongWaits(options.log, options.timeout ?? null);
  }

  /**
   * @param batch `prompts` and `attention_mask` (int32, left-padded) and the columns `raw_prompt`, `uid`, `agent_name` (the last two
   *   optional), each row already repeated `rollout.n` times.
   * @throws VerlError VERL_AGENT_LOOP_FAILED when no group is left; before anything runs, the registry's error for an unknown
   *   `agent_name`, and what a loop's `prepare` throws.
   */
  async run(batch: DataProto, run: LoopRunOptions): Promise<LoopRunResult> {
    const samples = samplesOf(batch, run.validate);
    const agents = samples.map(({ row }) => agentOf(row, this.options.defaultLoop));
    const loops = agents.map((agent) => this.loopOf(agent));
    const unready = [...new Set(agents)].filter((agent) => this.loopOf(agent).prepare !== undefined);
    if (unready.length > 0) await mapConcurrent(unready, unready.length, (agent) => this.prepare(agent), run.signal);
    const seeds = samples.map(() => run.rng.nextU32());
    const about = { step: run.step ?? 0, split: run.validate ? "val" : "train" } as const;
    const uids = samples.map(({ uid }) => uid);
    const tracer = this.options.tracer?.step(about, uids, run.rng.stream("traces"));
    const attempts = new Attempts(this.options, run, this.waits, tracer);
    const outcomes = await attempts.all(
      (index) => ({ sample: samples[index]!, agent: agents[index]!, loop: loops[index]!, seed: seeds[index]! }),
      samples.length,
      run.onTrajectory &&
        ((index, trajectory) => run.onTrajectory!(this.answers(batch.index([index]), [trajectory]).batch)),
    );
    const { failedGroups, retries, abandoned } = attempts;
    const keptRows = Int32Array.from(samples.keys()).filter((row) => !failedGroups.has(samples[row]!.uid));
    const failures = byCause(failedGroups.values());
    if (samples.length > 0 && keptRows.length === 0) throw allFailed(failures);
    reportFailures(failures, this.options.log);
    const kept = Array.from(keptRows, (row) => outcomes[row]!);
    const { batch: answers, cut } = this.answers(
      keptRows.length === batch.length ? batch : batch.index(keptRows),
      kept.map(({ trajectory }) => trajectory),
    );
    return {
      batch: answers,
      keptRows,
      metrics: {
        "agent_loop/retries": retries,
        "agent_loop/abandoned_loops": abandoned,
        "agent_loop/dropped_groups": failedGroups.size,
        "agent_loop/dropped_rows": samples.length - keptRows.length,
        "agent_loop/cut_responses": cut,
        ...dropMetrics(failedGroups.values()),
        ...loopMetrics(kept),
      },
    };
  }

  /** Makes the loop of a key ready, once. @throws the registry's error for an unknown one, and what its `prepare` throws. */
  async prepare(key: string): Promise<void> {
    const loop = this.loopOf(key);
    if (loop.prepare === undefined) return;
    let ready = this.preparing.get(key);
    if (ready === undefined) this.preparing.set(key, (ready = loop.prepare()));
    await ready;
  }

  /** The rows with their answers, and how many of these were cut. */
  private answers(rows: DataProto, trajectories: readonly Trajectory[]): { batch: DataProto; cut: number } {
    const { batch, columns, cut } = assembleTrajectories(trajectories, this.options);
    const nonTensorBatch = [...rows.nonTensorBatch, ...Object.entries(columns)];
    return { batch: new DataProto({ batch, nonTensorBatch, metaInfo: rows.metaInfo }), cut };
  }

  private loopOf(key: string): AgentLoop {
    let loop = this.loops.get(key);
    if (loop === undefined) {
      loop = this.options.createLoop(key);
      this.loops.set(key, loop);
    }
    return loop;
  }
}

function samplesOf(batch: DataProto, validate: boolean): AgentSample[] {
  const prompts = batch.tensor("prompts", "int32");
  const mask = batch.tensor("attention_mask", "int32");
  const width = prompts.rowSize;
  const messages = batch.column("raw_prompt") as readonly ChatMessage[][];
  const uids = batch.nonTensorBatch.get("uid");
  const columns = [...batch.nonTensorBatch];
  const groups = new Map<string, { promptIds: Int32Array; size: number }>();
  return Array.from({ length: batch.length }, (_, row) => {
    const uid = uids === undefined ? String(row) : String(uids[row]);
    let group = groups.get(uid);
    if (group === undefined) {
      const start = mask.data.subarray(row * width, (row + 1) * width).indexOf(1);
      // One array a group, so that an engine sees at once which prompts are the same.
      const promptIds = start < 0 ? new Int32Array(0) : prompts.data.slice(row * width + start, (row + 1) * width);
      group = { promptIds, size: 0 };
      groups.set(uid, group);
    }
    const sampleIndex = group.size++;
    const own = Object.fromEntries(columns.map(([name, column]) => [name, column[row]]));
    return { messages: messages[row]!, promptIds: group.promptIds, uid, sampleIndex, row: own, validate };
  });
}
