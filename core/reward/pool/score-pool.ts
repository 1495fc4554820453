import { availableParallelism } from "node:os";
import { ERROR_CODES, VerlError } from "../../errors/index.ts";
import { loadedPlugins } from "../../registry/load-plugin.ts";
import { DeadlineError } from "../deadline.ts";
import { unscored, unscoredClass } from "../sample-reward.ts";
import { forAll, type ScoreCall, type Scored } from "../score-call.ts";
import type { ScoreFunctions } from "../score-functions.ts";
import { CannotPost, HostLine, NOT_BEGUN, type Answer } from "./host-line.ts";
import type { Isolation, LaneEnd } from "./lane.ts";
import type { HostError, HostSetup } from "./messages.ts";

export interface PoolOptions {
  /** Hosts. null: one a core. */
  readonly workers: number | null;
  readonly isolation: Isolation;
  /** Memory that the function of one host may take. */
  readonly memoryLimitMb: number;
}

/** Seconds that a host has to load plugins and functions. */
const START_S = 60;
/** Seconds after its deadline in which a function that listens to its signal may still end the call itself. */
const GRACE_S = 0.25;
/** A host that died under a sample may have died of an earlier one: the sample gets a second, fresh host. */
const ATTEMPTS = 2;

/** Seconds of a call below which the next one is posted before it ends. A long one may turn out endless, and none should wait behind it. */
const QUICK_S = 0.05;
/** Calls of a host then: one under way, and one that waits there. */
const AHEAD = 2;

interface Waiting {
  use(line: HostLine): void;
  fail(error: Error): void;
}

/** What ended a call in a host. */
type Outcome = { readonly scored: Scored } | { readonly died: LaneEnd } | typeof NOT_BEGUN;

/**
 * Processes or threads that call score functions, each one call at a time. A call that does not end in time costs its host, which is
 * replaced at once; so does one that takes too much memory or ends the host itself. All other calls keep their results.
 */
export class ScorePool {
  /** Calls that keep all hosts busy. */
  readonly capacity: number;
  private readonly size: number;
  private readonly setup: HostSetup;
  private readonly lines = new Set<HostLine>();
  /** Those whose host has loaded its functions. */
  private readonly ready = new Set<HostLine>();
  private readonly waiting = new Set<Waiting>();
  private readonly dying = new Set<Promise<void>>();
  private broken: Error | undefined;
  /** The last call took little time. */
  private quick = false;

  constructor(
    functions: readonly ScoreFunctions[],
    private readonly options: PoolOptions,
  ) {
    this.size = options.workers ?? availableParallelism();
    this.capacity = this.size * AHEAD;
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

  /** One call. Time-outs, lost hosts and what the function throws leave its samples unscored. */
  async run(call: ScoreCall, seconds: number, signal?: AbortSignal): Promise<Scored> {
    const start = performance.now();
    for (let attempt = 1; ;) {
      const outcome = await this.attempt(call, seconds, signal);
      if (outcome === NOT_BEGUN) continue;
      if ("scored" in outcome) return outcome.scored;
      const { kind, detail } = outcome.died;
      if (kind === "timeout" || attempt++ === ATTEMPTS)
        return { rewards: forAll(call, unscored(kind, detail)), seconds: (performance.now() - start) / 1000 };
    }
  }

  async dispose(): Promise<void> {
    this.fail(new Error("the pool of score functions has ended"));
    for (const line of this.lines) this.kill(line);
    await Promise.all(this.dying);
  }

  private async attempt(call: ScoreCall, seconds: number, signal?: AbortSignal): Promise<Outcome> {
    const { line, answer } = await this.withRoom(
      (free) => ({ line: free, answer: free.ask({ call, seconds }, { seconds: seconds + GRACE_S, signal }) }),
      signal,
    );
    try {
      const outcome = outcomeOf(await answer);
      if (outcome === NOT_BEGUN) return outcome;
      if ("died" in outcome || isLate(outcome.scored)) this.replace(line);
      else {
        this.quick = outcome.scored.seconds < QUICK_S;
        this.offer();
      }
      return outcome;
    } catch (error) {
      if (error instanceof CannotPost) {
        this.offer();
        return { scored: { rewards: forAll(call, unscored("error", error.message)), seconds: 0 } };
      }
      this.replace(line);
      if (!(error instanceof DeadlineError)) throw error;
      return { died: { kind: "timeout", detail: `timed out after ${seconds} s` } };
    }
  }

  /** Has `use` called with a host that can take a message, at once or when there is one. */
  private withRoom<T>(use: (line: HostLine) => T, signal?: AbortSignal): Promise<T> {
    signal?.throwIfAborted();
    if (this.broken !== undefined) throw this.broken;
    const line = this.room();
    if (line !== undefined) return Promise.resolve(use(line));
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        this.waiting.delete(waiting);
        signal?.removeEventListener("abort", abort);
      };
      const abort = (): void => {
        leave();
        reject(signal!.reason as Error);
      };
      const waiting: Waiting = {
        use(free) {
          leave();
          resolve(use(free));
        },
        fail(error) {
          leave();
          reject(error);
        },
      };
      this.waiting.add(waiting);
      signal?.addEventListener("abort", abort, { once: true });
    });
  }

  /** The host with the least to do, if it can take a message. */
  private room(): HostLine | undefined {
    let least: HostLine | undefined;
    for (const line of this.ready) if (least === undefined || line.load < least.load) least = line;
    return least !== undefined && least.load < (this.quick ? AHEAD : 1) ? least : undefined;
  }

  /** Hands room to those who wait for it. */
  private offer(): void {
    for (const waiting of this.waiting) {
      const line = this.room();
      if (line === undefined) return;
      waiting.use(line);
    }
  }

  private async open(): Promise<void> {
    const { isolation, memoryLimitMb } = this.options;
    const line = new HostLine(isolation, memoryLimitMb, (ended) => this.lost(ended));
    this.lines.add(line);
    let answer: Answer;
    try {
      answer = await line.ask({ setup: this.setup }, { seconds: START_S });
    } catch (error) {
      this.kill(line);
      throw error instanceof DeadlineError ? notReady(`it was not ready after ${START_S} s`) : error;
    }
    if (answer !== NOT_BEGUN && "ready" in answer) {
      if (this.lines.has(line)) this.ready.add(line);
      return this.offer();
    }
    this.kill(line);
    if (answer === NOT_BEGUN) throw notReady("the pool has ended");
    if ("failed" in answer) throw hostError(answer.failed);
    throw notReady("kind" in answer ? answer.detail : "it answered another question");
  }

  /** A host died: whoever waits for it hears of it. An idle one is replaced. */
  private lost(line: HostLine): void {
    this.lines.delete(line);
    this.ready.delete(line);
    if (line.load === 0) this.replace(line);
  }

  private replace(line: HostLine): void {
    this.kill(line);
    if (this.broken !== undefined) return;
    this.open().catch((error: Error) => this.fail(error));
  }

  private kill(line: HostLine): void {
    this.lines.delete(line);
    this.ready.delete(line);
    const killed = line.kill().finally(() => this.dying.delete(killed));
    this.dying.add(killed);
  }

  /** No host can be had any more. */
  private fail(error: Error): void {
    this.broken ??= error;
    for (const waiting of this.waiting) waiting.fail(this.broken);
  }
}

/** @throws VerlError of a host that could not call the function. */
function outcomeOf(answer: Answer): Outcome {
  if (answer === NOT_BEGUN || "scored" in answer) return answer;
  if ("kind" in answer) return { died: answer };
  if ("failed" in answer) throw hostError(answer.failed);
  throw new Error("the pool's host answered another question");
}

/** The function may go on behind its deadline, and would disturb the next sample. */
function isLate({ rewards: [first] }: Scored): boolean {
  return first !== undefined && "unscored" in first && unscoredClass(first.unscored) === "timeout";
}

const notReady = (why: string): VerlError =>
  new VerlError("VERL_REWARD_POOL", `A process or thread for score functions did not start: ${why}.`, {
    hint: "The file of custom_reward_function.path and the plugins are loaded there anew; they must load by themselves, in reasonable time and memory.",
  });

function hostError({ code, message, hint }: HostError): VerlError {
  const known = code !== undefined && code in ERROR_CODES ? (code as keyof typeof ERROR_CODES) : "VERL_REWARD_POOL";
  return new VerlError(known, message, { hint: hint ?? POOL_HINT });
}

const POOL_HINT =
  "Score functions of a pool run in processes of their own, which load the `plugins:` of the config and the reward file; what the program itself registered is not there.";

const unknownSource = (): VerlError =>
  new VerlError(
    "VERL_REWARD_POOL",
    "These score functions have no file or key from which another process could load them.",
    {
      hint: "Name them by custom_reward_function.path or by a key, or score in this process.",
    },
  );
