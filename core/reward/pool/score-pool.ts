import { setMaxListeners } from "node:events";
import { availableParallelism } from "node:os";
import { loadedPlugins } from "../../registry/load-plugin.ts";
import { unscored } from "../sample-reward.ts";
import { forAll, isLate, type ScoreCall, type Scored } from "../score-call.ts";
import type { ScoreFunctions } from "../score-functions.ts";
import { HostLine } from "./host-line.ts";
import type { Isolation, LaneEnd } from "./lane.ts";
import type { HostSetup } from "./messages.ts";
import { Pace } from "./pace.ts";
import { hostError, unknownSource } from "./pool-errors.ts";
import { ScoreRun, type Job } from "./score-run.ts";

export interface PoolOptions {
  /** Hosts. null: one a core. */
  readonly workers: number | null;
  readonly isolation: Isolation;
  /** Memory that the function of one host may take. */
  readonly memoryLimitMb: number;
}

/**
 * Processes or threads that call score functions, each one call at a time. A call that does not end in time costs its host, which is
 * replaced at once; so does one that takes too much memory or ends the host itself. All other calls keep their results.
 */
export class ScorePool {
  private readonly size: number;
  private readonly setup: HostSetup;
  private readonly lines = new Set<HostLine>();
  /** Those whose host has loaded its functions. */
  private readonly ready = new Set<HostLine>();
  private readonly dying = new Set<Promise<void>>();
  private readonly pace = new Pace();
  /** Calls that no host has, in order. */
  private waiting: Job[] = [];
  private broken: Error | undefined;

  /** @param timeoutS seconds that a call may take. */
  constructor(
    functions: readonly ScoreFunctions[],
    private readonly options: PoolOptions,
    private readonly timeoutS: number,
  ) {
    this.size = options.workers ?? availableParallelism();
    const sources = functions.map(({ source }) => {
      if (source === undefined) throw unknownSource();
      return source;
    });
    const plugins = loadedPlugins().flatMap(({ url }) => (url === undefined ? [] : [url]));
    this.setup = { plugins, sources };
  }

  /** @throws VerlError of a host that could not load its functions. */
  async start(): Promise<void> {
    try {
      await Promise.all(Array.from({ length: this.size }, () => this.open()));
    } catch (error) {
      await this.dispose();
      throw error;
    }
  }

  /**
   * Scores calls, after those of earlier runs; the results are in the calls' order. Time-outs, lost hosts and what a function throws leave
   * samples unscored.
   * @throws the reason of `signal`; VerlError of a host that cannot call the function, or cannot be replaced
   */
  async run(calls: readonly ScoreCall[], signal?: AbortSignal): Promise<Scored[]> {
    signal?.throwIfAborted();
    if (this.broken !== undefined) throw this.broken;
    const run = new ScoreRun(calls);
    const abort = (): void => this.drop(run, signal!.reason as Error);
    if (signal !== undefined) setMaxListeners(0, signal);
    signal?.addEventListener("abort", abort, { once: true });
    try {
      for (const job of run.jobs) this.waiting.push(job);
      this.dispatch();
      return await run.done;
    } finally {
      signal?.removeEventListener("abort", abort);
    }
  }

  async dispose(): Promise<void> {
    this.broken ??= new Error("the pool of score functions has ended");
    for (const line of this.lines) this.retire(line);
    this.fail(this.broken);
    await Promise.all(this.dying);
  }

  /** Hands out what waits, to the hosts with the least to do. */
  private dispatch(): void {
    if (this.broken !== undefined) return this.fail(this.broken);
    while (this.waiting.length > 0) {
      const line = this.freest();
      if (line === undefined) return;
      const room = this.room(line);
      if (room === 0) return;
      for (let given = 0; given < room; given++) {
        if (given > 0 && (line.clogged || this.waiting[0]!.suspect)) break;
        this.give(line, this.waiting.shift()!);
      }
    }
  }

  /** The host with the least to do, of those whose line takes more. */
  private freest(): HostLine | undefined {
    let freest: HostLine | undefined;
    for (const line of this.ready) {
      if (!line.clogged && (freest === undefined || line.load < freest.load)) freest = line;
    }
    return freest;
  }

  /** Calls that a host may be given now. A suspect one has its host for itself, so that there is no doubt of what it does. */
  private room(line: HostLine): number {
    if (line.current?.suspect) return 0;
    if (this.waiting[0]!.suspect) return line.load === 0 ? 1 : 0;
    return this.pace.room(line.load, this.waiting.length, this.size);
  }

  private give(line: HostLine, job: Job): void {
    try {
      line.give(job);
    } catch (error) {
      const what = `the sample cannot be handed on: ${(error as Error).message}`;
      job.run.settle(job, { rewards: forAll(job.call, unscored("error", what)), seconds: 0 });
    }
  }

  private async open(): Promise<void> {
    const { isolation, memoryLimitMb } = this.options;
    const line = new HostLine(isolation, memoryLimitMb, this.timeoutS, {
      scored: (job, scored) => {
        this.pace.note(scored.seconds);
        job.run.settle(job, scored);
        if (isLate(scored)) this.replace(line);
        this.dispatch();
      },
      failed: (job, error) => this.drop(job.run, hostError(error)),
      ended: (why) => this.ended(line, why),
    });
    this.lines.add(line);
    try {
      await line.start(this.setup);
    } catch (error) {
      this.retire(line);
      throw error;
    }
    if (this.lines.has(line)) this.ready.add(line);
    this.dispatch();
  }

  /**
   * A host died, or has to. Which call it died of is certain of a suspect, which was alone there. Otherwise it may be any that was not
   * answered, or what an earlier one left behind: all of them are made again, one at a time.
   */
  private ended(line: HostLine, { kind, detail }: LaneEnd): void {
    const { current, elapsed } = line;
    if (current !== undefined && (kind === "timeout" || current.suspect)) {
      line.takeNext();
      this.pace.note(elapsed);
      current.run.settle(current, { rewards: forAll(current.call, unscored(kind, detail)), seconds: elapsed });
    }
    if (kind !== "timeout") line.suspect();
    this.replace(line);
    this.dispatch();
  }

  /** Ends a run. A host that is at one of its calls is of no use any more. */
  private drop(run: ScoreRun, error: Error): void {
    run.fail(error);
    this.waiting = this.waiting.filter((job) => job.run !== run);
    for (const line of this.ready) {
      if (line.current?.run === run) this.replace(line);
    }
    this.dispatch();
  }

  private replace(line: HostLine): void {
    this.retire(line);
    if (this.broken === undefined) this.open().catch((error: Error) => this.fail(error));
  }

  /** Ends a host. What it did not answer waits again, before all else. */
  private retire(line: HostLine): void {
    this.lines.delete(line);
    this.ready.delete(line);
    this.waiting.unshift(...line.takeBack().filter(({ run }) => !run.ended));
    const killed = line.kill().finally(() => this.dying.delete(killed));
    this.dying.add(killed);
  }

  /** No host can be had any more. */
  private fail(error: Error): void {
    this.broken ??= error;
    for (const job of this.waiting.splice(0)) job.run.fail(this.broken);
  }
}
