import { performance } from "node:perf_hooks";
import type { Generation, RolloutEngine } from "../engine/rollout-engine.ts";
import type { WeightMap } from "../engine/training-engine.ts";
import type { SampleTrace } from "./tracing/sample-trace.ts";
import type { Trajectory } from "./trajectory.ts";

/** What one answer took; an engine around the run's, whose generations are timed. */
export class LoopTimes implements RolloutEngine {
  /** Seconds of generation, of all turns. */
  generation = 0;
  /** Seconds of each tool call. */
  readonly tools: number[] = [];

  /**
   * @param signal of the attempt: once it has fired, nothing more is generated
   * @param givenUp rejects then, and no loop waits for an engine that does not listen
   */
  constructor(
    private readonly rollout: RolloutEngine,
    private readonly signal: AbortSignal,
    private readonly givenUp: Promise<never>,
    private readonly trace?: SampleTrace,
  ) {}

  get toolSeconds(): number {
    return this.tools.reduce((sum, seconds) => sum + seconds, 0);
  }

  get weightVersion(): number {
    return this.rollout.weightVersion;
  }

  get vocabSize(): number | undefined {
    return this.rollout.vocabSize;
  }

  async generate(...[promptIds, sampling, options]: Parameters<RolloutEngine["generate"]>): Promise<Generation> {
    this.signal.throwIfAborted();
    const started = performance.now();
    const end = (result: Generation | { error: unknown }): void => {
      const seconds = (performance.now() - started) / 1000;
      this.generation += seconds;
      this.trace?.generated(promptIds, seconds, result);
    };
    try {
      const asked = this.rollout.generate(promptIds, sampling, { ...options, signal: options?.signal ?? this.signal });
      const generation = await Promise.race([this.givenUp, asked]);
      end(generation);
      return generation;
    } catch (error) {
      end({ error });
      throw error;
    }
  }

  updateWeights(weights: WeightMap): Promise<void> {
    return this.rollout.updateWeights(weights);
  }

  sleep(tags: readonly string[]): Promise<void> {
    return this.rollout.sleep(tags);
  }

  wake(tags: readonly string[]): Promise<void> {
    return this.rollout.wake(tags);
  }

  abort(): Promise<void> {
    return this.rollout.abort();
  }

  dispose(): void {
    this.rollout.dispose();
  }
}

/** An answer with what it took. */
export interface TimedTrajectory {
  trajectory: Trajectory;
  times: LoopTimes;
}

/**
 * verl's `agent_loop/{generate_sequences,tool_calls}/{min,max,mean}` (seconds an answer) and `agent_loop/slowest/…` (of the answer that
 * took longest); beside them turns, the latency of single tool calls, and `agent_loop/ended/<reason>` where loops tell why they ended.
 */
export function loopMetrics(answers: readonly TimedTrajectory[]): Record<string, number> {
  const generation = answers.map(({ times }) => times.generation);
  const tools = answers.map(({ times }) => times.toolSeconds);
  return {
    ...spread(
      "agent_loop/num_turns",
      answers.map(({ trajectory }) => trajectory.numTurns),
    ),
    ...spread("agent_loop/generate_sequences", generation),
    ...spread("agent_loop/tool_calls", tools),
    ...latency(answers.flatMap(({ times }) => times.tools)),
    ...slowest(answers),
    ...endings(answers),
  };
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

/** Nearest-rank percentiles. */
function latency(seconds: readonly number[]): Record<string, number> {
  if (seconds.length === 0) return { "agent_loop/tool_calls/count": 0 };
  const sorted = Float64Array.from(seconds).sort();
  const at = (share: number): number => sorted[Math.ceil(share * sorted.length) - 1]!;
  return {
    "agent_loop/tool_calls/count": sorted.length,
    "agent_loop/tool_latency/p50": at(0.5),
    "agent_loop/tool_latency/p95": at(0.95),
  };
}

function slowest(answers: readonly TimedTrajectory[]): Record<string, number> {
  const seconds = ({ times }: TimedTrajectory): number => times.generation + times.toolSeconds;
  const [first] = answers;
  if (first === undefined) return {};
  const { trajectory, times } = answers.reduce((last, next) => (seconds(next) > seconds(last) ? next : last), first);
  return {
    "agent_loop/slowest/generate_sequences": times.generation,
    "agent_loop/slowest/tool_calls": times.toolSeconds,
    "agent_loop/slowest/prompt_length": trajectory.promptIds.length,
    "agent_loop/slowest/response_length": trajectory.segments.reduce((sum, { ids }) => sum + ids.length, 0),
  };
}

function endings(answers: readonly TimedTrajectory[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { trajectory } of answers) {
    const reason = trajectory.extraFields.termination_reason;
    if (typeof reason !== "string") continue;
    const name = `agent_loop/ended/${reason}`;
    counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
}
