import { setMaxListeners } from "node:events";
import { availableParallelism } from "node:os";
import { ERROR_CODES, VerlError } from "../../errors/index.ts";
import { loadedPlugins } from "../../registry/load-plugin.ts";
import { DeadlineError } from "../deadline.ts";
import { unscored, unscoredClass } from "../sample-reward.ts";
import { forAll, type ScoreCall, type Scored } from "../score-call.ts";
import type { ScoreFunctions } from "../score-functions.ts";
import { openLane, type Isolation, type Lane, type LaneEnd } from "./lane.ts";
import type { FromHost, HostError, HostSetup } from "./messages.ts";

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

interface Waiting {
  take(lane: Lane): void;
  fail(error: Error): void;
}

/** What ended a call in a host. */
type Outcome = { readonly scored: Scored } | { readonly died: LaneEnd };

/**
 * Processes or threads that call score functions, each one call at a time. A call that does not end in time costs its host, which is
 * replaced at once; so does one that takes too much memory or ends the host itself. All other calls keep their results.
 */
export class ScorePool {
  readonly size: number;
  private readonly setup: HostSetup;
  private readonly lanes = new Set<Lane>();
  private readonly idle: Lane[] = [];
  private readonly waiting = new Set<Waiting>();
  /** What is called with a host's next message, or with its end. */
  private readonly listeners = new Map<Lane, (event: FromHost | LaneEnd) => void>();
  private readonly dying = new Set<Promise<void>>();
  private broken: Error | undefined;

  constructor(
    functions: readonly ScoreFunctions[],
    private readonly options: PoolOptions,
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

  /** One call. Time-outs, lost hosts and what the function throws leave its samples unscored. */
  async run(call: ScoreCall, seconds: number, signal?: AbortSignal): Promise<Scored> {
    const start = performance.now();
    for (let attempt = 1; ; attempt++) {
      const outcome = await this.attempt(call, seconds, signal);
      if ("scored" in outcome) return outcome.scored;
      const { kind, detail } = outcome.died;
      if (kind === "timeout" || attempt === ATTEMPTS)
        return { rewards: forAll(call, unscored(kind, detail)), seconds: (performance.now() - start) / 1000 };
    }
  }

  async dispose(): Promise<void> {
    this.fail(new Error("the pool of score functions has ended"));
    for (const lane of this.lanes) {
      this.kill(lane);
      this.listeners.get(lane)?.({ kind: "error", detail: "the pool has ended" });
    }
    await Promise.all(this.dying);
  }

  private async attempt(call: ScoreCall, seconds: number, signal?: AbortSignal): Promise<Outcome> {
    const lane = await this.free(signal);
    try {
      const event = await this.ask(lane, { call, seconds }, { seconds: seconds + GRACE_S, signal });
      if ("failed" in event) throw hostError(event.failed);
      if ("kind" in event) {
        this.replace(lane);
        return { died: event };
      }
      if (!("scored" in event)) throw new Error("the pool's host answered another question");
      const [first] = event.scored.rewards;
      // The function may go on behind its deadline, and would disturb the next sample.
      const late = first !== undefined && "unscored" in first && unscoredClass(first.unscored) === "timeout";
      if (late) this.replace(lane);
      else this.release(lane);
      return event;
    } catch (error) {
      this.replace(lane);
      if (!(error instanceof DeadlineError)) throw error;
      return { died: { kind: "timeout", detail: `timed out after ${seconds} s` } };
    }
  }

  /** Posts a message and waits for the answer, or for the host's end. */
  private ask(
    lane: Lane,
    message: Parameters<Lane["post"]>[0],
    { seconds, signal }: { seconds: number; signal?: AbortSignal },
  ): Promise<FromHost | LaneEnd> {
    return new Promise((resolve, reject) => {
      const settle = (act: () => void): void => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", abort);
        this.listeners.delete(lane);
        act();
      };
      const abort = (): void => settle(() => reject(signal!.reason as Error));
      const late = (): void => settle(() => reject(new DeadlineError(`no answer in ${seconds} s`)));
      // Where this thread was busy, the answer may be here already: what has arrived is read before the host is given up.
      const timer = setTimeout(() => {
        setImmediate(() => setImmediate(() => this.listeners.get(lane) === listener && late()));
      }, seconds * 1000);
      const listener = (event: FromHost | LaneEnd): void => settle(() => resolve(event));
      this.listeners.set(lane, listener);
      if (signal !== undefined) {
        setMaxListeners(0, signal);
        if (signal.aborted) return abort();
        signal.addEventListener("abort", abort, { once: true });
      }
      try {
        lane.post(message);
      } catch (error) {
        listener({ kind: "error", detail: `the sample cannot be handed on: ${(error as Error).message}` });
      }
    });
  }

  /** A host that is ready and idle. */
  private free(signal?: AbortSignal): Promise<Lane> {
    signal?.throwIfAborted();
    if (this.broken !== undefined) throw this.broken;
    const idle = this.idle.pop();
    if (idle !== undefined) return Promise.resolve(idle);
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
        take(lane) {
          leave();
          resolve(lane);
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

  private release(lane: Lane): void {
    if (!this.lanes.has(lane)) return;
    const [next] = this.waiting;
    if (next === undefined) this.idle.push(lane);
    else next.take(lane);
  }

  private async open(): Promise<void> {
    const { isolation, memoryLimitMb } = this.options;
    const lane = openLane(isolation, memoryLimitMb, {
      message: (message) => this.listeners.get(lane)?.(message),
      end: (why) => this.lost(lane, why),
    });
    this.lanes.add(lane);
    let answer: FromHost | LaneEnd;
    try {
      answer = await this.ask(lane, { setup: this.setup }, { seconds: START_S });
    } catch (error) {
      this.kill(lane);
      throw error instanceof DeadlineError ? notReady(`it was not ready after ${START_S} s`) : error;
    }
    if ("ready" in answer) return this.release(lane);
    this.kill(lane);
    if ("failed" in answer) throw hostError(answer.failed);
    throw notReady("kind" in answer ? answer.detail : "it answered another question");
  }

  /** A host died: whoever waits for it hears of it. An idle one is replaced. */
  private lost(lane: Lane, why: LaneEnd): void {
    this.lanes.delete(lane);
    const listener = this.listeners.get(lane);
    if (listener !== undefined) return listener(why);
    this.replace(lane);
  }

  private replace(lane: Lane): void {
    this.kill(lane);
    if (this.broken !== undefined) return;
    this.open().catch((error: Error) => this.fail(error));
  }

  private kill(lane: Lane): void {
    this.lanes.delete(lane);
    const at = this.idle.indexOf(lane);
    if (at >= 0) this.idle.splice(at, 1);
    const killed = lane.kill().finally(() => this.dying.delete(killed));
    this.dying.add(killed);
  }

  /** No host can be had any more. */
  private fail(error: Error): void {
    this.broken ??= error;
    for (const waiting of this.waiting) waiting.fail(this.broken);
  }
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
