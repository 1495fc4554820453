import { setTimeout as sleep } from "node:timers/promises";
import { DeadlineError } from "../reward/deadline.ts";
import { mapConcurrent } from "../reward/map-concurrent.ts";
import type { AgentContext, AgentLoop, AgentSample } from "./agent-loop.ts";
import { checkTrajectory } from "./check-trajectory.ts";
import type { Failure } from "./loop-failures.ts";
import { LoopTimes, type TimedTrajectory } from "./loop-metrics.ts";
import type { LoopRunnerOptions, LoopRunOptions } from "./loop-runner.ts";
import type { StepTracer } from "./tracing/rollout-tracer.ts";
import type { Trajectory } from "./trajectory.ts";

/** What to do for one row. */
interface Task {
  sample: AgentSample;
  /** Key of the loop. */
  agent: string;
  loop: AgentLoop;
  seed: number;
}

/** One run's attempts at its answers. */
export class Attempts {
  readonly failedGroups = new Map<string, Failure>();
  retries = 0;
  /** Attempts under way, by what ends each. One listener for all of them: a signal's listeners are a list that is searched. */
  private readonly live = new Map<AbortController, AgentSample>();

  constructor(
    private readonly options: LoopRunnerOptions,
    private readonly run: LoopRunOptions,
    private readonly tracer?: StepTracer,
  ) {}

  /** @param ended is told of each answer as it comes. */
  async all(
    task: (index: number) => Task,
    count: number,
    ended?: (index: number, trajectory: Trajectory) => void,
  ): Promise<(TimedTrajectory | undefined)[]> {
    const { signal } = this.run;
    const abortAll = (): void => this.live.forEach((_, controller) => controller.abort(signal.reason));
    signal.addEventListener("abort", abortAll, { once: true });
    try {
      const tasks = Array.from({ length: count }, (_, index) => index);
      const limit = this.options.maxConcurrent ?? 10_000;
      const answer = async (index: number): Promise<TimedTrajectory | undefined> => {
        const outcome = await this.answer(task(index));
        if (outcome !== undefined) ended?.(index, outcome.trajectory);
        return outcome;
      };
      return await mapConcurrent(tasks, limit, answer, signal);
    } finally {
      signal.removeEventListener("abort", abortAll);
    }
  }

  /** Tries until there is an answer, or the sample's group is given up. */
  private async answer(task: Task): Promise<TimedTrajectory | undefined> {
    const { uid, sampleIndex } = task.sample;
    const { maxRetries = 2, retryDelay = 0.1 } = this.options;
    for (let tries = 0; !this.failedGroups.has(uid); tries += 1) {
      try {
        return await this.attempt(task, tries);
      } catch (error) {
        this.run.signal.throwIfAborted();
        if (this.failedGroups.has(uid)) break;
        if (tries >= maxRetries) this.drop({ uid, sampleIndex, error });
        else {
          this.retries += 1;
          await sleep(retryDelay * 1000 * 2 ** tries, undefined, { signal: this.run.signal });
        }
      }
    }
    return undefined;
  }

  private async attempt({ sample, agent, loop, seed }: Task, tries: number): Promise<TimedTrajectory> {
    const { rollout, responseLength, metrics, timeout } = this.options;
    const controller = new AbortController();
    this.live.set(controller, sample);
    const trace = this.tracer?.begin(sample, agent, tries);
    const times = new LoopTimes(rollout, trace);
    const context: AgentContext = {
      rollout: times,
      sampling: { ...this.run.sampling, max_tokens: responseLength, seed: (seed + tries) >>> 0 },
      signal: controller.signal,
      metric: (name, value) => metrics?.add(name, value),
      toolCalled(seconds, call) {
        if (call?.outcome !== "invalid") times.tools.push(seconds);
        trace?.toolCalled(seconds, call);
      },
    };
    const late = deadline(controller, timeout ?? null);
    try {
      const work = (): Promise<Trajectory> => loop.run(sample, context);
      const running = trace === undefined ? work() : trace.run(work);
      const trajectory = await (late === undefined ? running : Promise.race([late.passed, running]));
      checkTrajectory(trajectory, { promptLength: this.options.promptLength, columns: sample.row });
      if (trajectory.stopReason === "abort") throw new Error("The generation was aborted.");
      return { trajectory, times };
    } catch (error) {
      // What the attempt left under way ends with it.
      controller.abort(error);
      trace?.fail(error);
      throw error;
    } finally {
      late?.clear();
      this.live.delete(controller);
    }
  }

  /** Gives a group up: its other answers are of no use any more. */
  private drop(failure: Failure): void {
    this.failedGroups.set(failure.uid, failure);
    for (const [controller, { uid }] of this.live) if (uid === failure.uid) controller.abort(failure.error);
  }
}

/** Aborts after so many seconds; a loop that does not listen is left to itself. */
function deadline(
  controller: AbortController,
  seconds: number | null,
): { passed: Promise<never>; clear: () => void } | undefined {
  if (seconds === null) return undefined;
  let timer: NodeJS.Timeout | undefined;
  const passed = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      const error = new DeadlineError(`timed out after ${seconds} s`);
      controller.abort(error);
      reject(error);
    }, seconds * 1000);
  });
  return { passed, clear: () => clearTimeout(timer) };
}
