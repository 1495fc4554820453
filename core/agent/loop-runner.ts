import { performance } from "node:perf_hooks";
import { DataProto } from "../batch/data-proto.ts";
import type { ChatMessage } from "../data/tokenizer.ts";
import type { RolloutEngine, SamplingParams } from "../engine/rollout-engine.ts";
import { VerlError } from "../errors/verl-error.ts";
import type { Logger } from "../registry/logger.ts";
import type { MetricsSink } from "../registry/metrics-sink.ts";
import { mapConcurrent } from "../reward/map-concurrent.ts";
import type { Rng } from "../tensor/rng.ts";
import type { AgentContext, AgentLoop, AgentSample } from "./agent-loop.ts";
import { assembleTrajectories, type AssembleOptions } from "./assemble.ts";
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
  /** Further attempts for a row whose loop failed. Default: 2. */
  maxRetries?: number;
}

export interface LoopRunOptions {
  /** The token limit is the runner's, the seed each row's own. */
  sampling: Omit<SamplingParams, "seed" | "max_tokens">;
  /** A stream of this step's own, `rng.stream("rollout/12")`: row i's seed is its i-th draw, whatever finishes first. */
  rng: Rng;
  validate: boolean;
  signal: AbortSignal;
}

export interface LoopRunResult {
  /** The answers, with every column of the rows they answer. */
  batch: DataProto;
  /** Rows of the given batch that have an answer, ascending; all of them unless groups were dropped. */
  keptRows: Int32Array;
  /** `agent_loop/…` of this run. */
  metrics: Record<string, number>;
}

/** Causes of dropped groups that are told, a run of the loops. */
const SHOWN = 3;

/** A group that is given up, with the answer that kept failing. */
interface Failure {
  uid: string;
  sampleIndex: number;
  error: unknown;
}

interface Outcome {
  trajectory: Trajectory;
  seconds: number;
}

/**
 * Runs an agent loop for every row of a generation batch, all at once up to a bound, and lays the answers out as verl's batch.
 * A row that fails is tried again with another seed; when it keeps failing, its whole group (the rows of its `uid`) is dropped and
 * counted, so that no group is compared with a part of itself.
 */
export class LoopRunner {
  private readonly loops = new Map<string, AgentLoop>();

  constructor(private readonly options: LoopRunnerOptions) {}

  /**
   * @param batch `prompts` and `attention_mask` (int32, left-padded) and the columns `raw_prompt`, `uid`, `agent_name` (the last two
   *   optional), each row already repeated `rollout.n` times.
   * @throws VerlError VERL_AGENT_LOOP_FAILED when no group is left; the registry's error for an unknown `agent_name`, before anything runs.
   */
  async run(batch: DataProto, run: LoopRunOptions): Promise<LoopRunResult> {
    const samples = samplesOf(batch, run.validate);
    const loops = samples.map(({ row }) =>
      this.loopOf(typeof row.agent_name === "string" ? row.agent_name : this.options.defaultLoop),
    );
    const seeds = samples.map(() => run.rng.nextU32());
    const failedGroups = new Map<string, Failure>();
    let retries = 0;

    const attempt = async (sample: AgentSample, index: number): Promise<Outcome | undefined> => {
      for (let tries = 0; !failedGroups.has(sample.uid); tries += 1) {
        const started = performance.now();
        try {
          const trajectory = await loops[index]!.run(sample, this.context(run, seeds[index]! + tries));
          if (trajectory.stopReason === "abort") throw new Error("The generation was aborted.");
          return { trajectory, seconds: (performance.now() - started) / 1000 };
        } catch (error) {
          run.signal.throwIfAborted();
          if (tries < (this.options.maxRetries ?? 2)) retries += 1;
          else if (!failedGroups.has(sample.uid))
            failedGroups.set(sample.uid, { uid: sample.uid, sampleIndex: sample.sampleIndex, error });
        }
      }
      return undefined;
    };

    const outcomes = await mapConcurrent(samples, this.options.maxConcurrent ?? 10_000, attempt, run.signal);
    const keptRows = Int32Array.from(samples.keys()).filter((row) => !failedGroups.has(samples[row]!.uid));
    const failures = byCause(failedGroups.values());
    if (samples.length > 0 && keptRows.length === 0) throw allFailed(failures);
    this.report(failures);
    const kept = Array.from(keptRows, (row) => outcomes[row]!);
    const assembled = assembleTrajectories(
      kept.map(({ trajectory }) => trajectory),
      this.options,
    );
    const rows = keptRows.length === batch.length ? batch : batch.index(keptRows);
    return {
      batch: new DataProto({
        batch: assembled.batch,
        nonTensorBatch: [...rows.nonTensorBatch, ...Object.entries(assembled.columns)],
        metaInfo: batch.metaInfo,
      }),
      keptRows,
      metrics: {
        "agent_loop/retries": retries,
        "agent_loop/dropped_groups": failedGroups.size,
        "agent_loop/dropped_rows": samples.length - keptRows.length,
        "agent_loop/cut_responses": assembled.cut,
        ...spread(
          "agent_loop/num_turns",
          kept.map(({ trajectory }) => trajectory.numTurns),
        ),
        ...spread(
          "agent_loop/generate_sequences",
          kept.map(({ seconds }) => seconds),
        ),
      },
    };
  }

  private loopOf(key: string): AgentLoop {
    let loop = this.loops.get(key);
    if (loop === undefined) {
      loop = this.options.createLoop(key);
      this.loops.set(key, loop);
    }
    return loop;
  }

  private context({ sampling, signal }: LoopRunOptions, seed: number): AgentContext {
    const { rollout, responseLength, metrics } = this.options;
    return {
      rollout,
      sampling: { ...sampling, max_tokens: responseLength, seed: seed >>> 0 },
      signal,
      metric: (name, value) => metrics?.add(name, value),
    };
  }

  /** One line a cause: what strikes one group often strikes many. */
  private report(failures: readonly (readonly Failure[])[]): void {
    const rest = failures.slice(SHOWN).flat();
    for (const [first, ...others] of failures.slice(0, SHOWN)) {
      const { uid, sampleIndex, error } = first!;
      const more = others.length === 0 ? "" : ` ${others.length} more groups were dropped for the same reason.`;
      const cause = error instanceof Error ? (error.stack ?? error.message) : String(error);
      this.options.log.warn(
        `Dropped the group of prompt ${uid}: its answer ${sampleIndex} failed every time.${more} ${cause}`,
      );
    }
    if (rest.length > 0) this.options.log.warn(`Dropped ${rest.length} more groups for other reasons.`);
  }
}

/** Failures with the same message together, the commonest first. */
function byCause(failures: Iterable<Failure>): Failure[][] {
  const causes = new Map<string, Failure[]>();
  for (const failure of failures) {
    const message = reasonOf(failure.error);
    const alike = causes.get(message);
    if (alike === undefined) causes.set(message, [failure]);
    else alike.push(failure);
  }
  return [...causes.values()].sort((a, b) => b.length - a.length);
}

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

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

function spread(name: string, values: readonly number[]): Record<string, number> {
  if (values.length === 0) return {};
  let [min, max, sum] = [Infinity, -Infinity, 0];
  for (const value of values) {
    min = Math.min(min, value);
    max = Math.max(max, value);
    sum += value;
  }
  return { [`${name}/min`]: min, [`${name}/max`]: max, [`${name}/mean`]: sum / values.length };
}

function allFailed(failures: readonly (readonly Failure[])[]): VerlError {
  const [commonest] = failures;
  const groups = failures.reduce((sum, alike) => sum + alike.length, 0);
  const reason = reasonOf(commonest![0]!.error);
  return new VerlError(
    "VERL_AGENT_LOOP_FAILED",
    failures.length === 1
      ? `No prompt was answered: all ${groups} groups failed by the same error: ${reason}`
      : `No prompt was answered: all ${groups} groups failed by ${failures.length} different errors. The commonest (${commonest!.length} groups) is: ${reason}`,
    {
      cause: commonest![0]!.error,
      hint: "Look at that error first; the same cause usually fails every row.",
    },
  );
}
