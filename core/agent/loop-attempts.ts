import type { RolloutEngine } from "../engine/rollout-engine.ts";
import { DeadlineError, LONGEST_TIMER } from "../reward/deadline.ts";
import { mapConcurrent } from "../reward/map-concurrent.ts";
import { AbandonedLoops } from "./abandoned-loops.ts";
import type { AgentContext, AgentLoop, AgentSample } from "./agent-loop.ts";
import { checkTrajectory } from "./check-trajectory.ts";
import { TIMEOUT_KEY, type LongWaits } from "./long-waits.ts";
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

/** Milliseconds between two attempts, at most. */
const LONGEST_PAUSE = 60_000;

/** An attempt, or the pause before one. */
interface UnderWay {
  readonly uid: string;
  end(reason: unknown): void;
}

/** One run's attempts at its answers. */
export class Attempts {
  readonly failedGroups = new Map<string, Failure>();
  retries = 0;
  /** Loops that did not end when they were told to. */
  abandoned = 0;
  /** One listener ends them all: a signal's listeners are a list that is searched. */
  private readonly live = new Set<UnderWay>();
  private readonly left = new AbandonedLoops();

  constructor(
    private readonly options: LoopRunnerOptions,
    private readonly run: LoopRunOptions,
    private readonly waits: LongWaits,
    private readonly tracer?: StepTracer,
  ) {}

  /** @param ended is told of each answer as it comes. */
  async all(
    task: (index: number) => Task,
    count: number,
    ended?: (index: number, trajectory: Trajectory) => void,
  ): Promise<(TimedTrajectory | undefined)[]> {
    const { signal } = this.run;
    const endAll = (): void => this.live.forEach((underWay) => underWay.end(signal.reason));
    signal.addEventListener("abort", endAll, { once: true });
    const { validate, step = 0 } = this.run;
    const wait = this.waits.watch(validate ? `The validation of step ${step}` : `Step ${step}`, count);
    try {
      const tasks = Array.from({ length: count }, (_, index) => index);
      const limit = this.options.maxConcurrent ?? 10_000;
      const answer = async (index: number): Promise<TimedTrajectory | undefined> => {
        const outcome = await this.answer(task(index));
        wait.came();
        if (outcome !== undefined) ended?.(index, outcome.trajectory);
        return outcome;
      };
      return await mapConcurrent(tasks, limit, answer, signal);
    } finally {
      signal.removeEventListener("abort", endAll);
      wait.end();
      this.abandoned = await this.left.settle(this.options.log);
    }
  }

  /** Tries until there is an answer, or the sample's group is given up. */
  private async answer(task: Task): Promise<TimedTrajectory | undefined> {
    const { uid, sampleIndex } = task.sample;
    const { maxRetries = 2, retryDelay = 0.1 } = this.options;
    for (let tries = 0; !this.failedGroups.has(uid); tries += 1) {
      this.run.signal.throwIfAborted();
      try {
        return await this.attempt(task, tries);
      } catch (error) {
        this.run.signal.throwIfAborted();
        if (this.failedGroups.has(uid)) break;
        if (tries >= maxRetries) this.drop({ uid, sampleIndex, error });
        else {
          this.retries += 1;
          await this.pause(uid, retryDelay * 1000 * 2 ** tries);
        }
      }
    }
    return undefined;
  }

  private async attempt({ sample, agent, loop, seed }: Task, tries: number): Promise<TimedTrajectory> {
    const { rollout, responseLength, metrics, timeout } = this.options;
    const controller = new AbortController();
    const started = performance.now();
    const trace = this.tracer?.begin(sample, agent, tries);
    let giveUp: (reason: unknown) => void;
    const givenUp = new Promise<never>((_, reject) => (giveUp = reject));
    const times = new LoopTimes(rollout, controller.signal, givenUp, trace);
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
    let running: Promise<Trajectory> | undefined;
    const underWay: UnderWay = {
      uid: sample.uid,
      end: (reason) => {
        controller.abort(reason);
        // Whether the loop listens or not.
        giveUp(reason);
        if (running !== undefined) this.left.add(sample, agent, running);
      },
    };
    const endIfLate = (): void => underWay.end(new DeadlineError(`timed out after ${timeout} s (${TIMEOUT_KEY})`));
    const timer = timeout == null ? undefined : setTimeout(endIfLate, Math.min(timeout * 1000, LONGEST_TIMER));
    this.live.add(underWay);
    try {
      const work = (): Promise<Trajectory> => loop.run(sample, context);
      running = trace === undefined ? work() : trace.run(work);
      const trajectory = await Promise.race([givenUp, running]);
      // From JavaScript, loops that generate nothing are run without an engine.
      const { vocabSize } = (rollout as RolloutEngine | undefined) ?? {};
      checkTrajectory(trajectory, { promptLength: this.options.promptLength, columns: sample.row, vocabSize });
      if (trajectory.stopReason === "abort") throw new Error("The generation was aborted.");
      trace?.succeed(trajectory);
      return { trajectory, times };
    } catch (error) {
      // What the attempt left under way ends with it.
      controller.abort(error);
      if (trace !== undefined) trace.fail(error);
      else if (!this.run.signal.aborted) this.tracer?.failed(sample, agent, tries, performance.now() - started, error);
      throw error;
    } finally {
      clearTimeout(timer);
      this.live.delete(underWay);
    }
  }

  /** Ends early with the run, or when the group is given up. */
  private pause(uid: string, milliseconds: number): Promise<void> {
    return new Promise((resolve) => {
      const end = (): void => {
        clearTimeout(timer);
        this.live.delete(underWay);
        resolve();
      };
      const underWay: UnderWay = { uid, end };
      const timer = setTimeout(end, Math.min(milliseconds, LONGEST_PAUSE));
      this.live.add(underWay);
    });
  }

  /** Gives a group up: its other answers are of no use any more. */
  private drop(failure: Failure): void {
    this.failedGroups.set(failure.uid, failure);
    for (const underWay of this.live) if (underWay.uid === failure.uid) underWay.end(failure.error);
  }
}
