import type { VerlError } from "../errors/index.ts";
import { reasonOf } from "../errors/reason-of.ts";
import { isAbort } from "../errors/is-abort.ts";
import type { MetricsSink } from "../registry/index.ts";
import { startFailure, startOf } from "./call-failure.ts";
import { CallLive } from "./call-live.ts";
import type { GroupCall } from "./group-call.ts";
import type { HealthEvent } from "./health.ts";
import { unpackError } from "./packed-error.ts";
import { PendingCalls } from "./pending-calls.ts";
import { nothingLive, pack, unpack } from "./payload.ts";
import type { ExchangeHub, Turn } from "./peers.ts";
import type { ChannelMessage, Lent, RankChannel } from "./rank-channel.ts";
import type { FromRank, ToRank } from "./rank-protocol.ts";
import type { RankPlace } from "./resource-pool.ts";
import { raceAbort } from "./race-abort.ts";
import { deadRank, disposedRank, endedBy, NOT_STOPPED, STOP_S, unended, WITH_TRANSPORT } from "./rank-end.ts";
import { startMessage } from "./start-message.ts";
import { steadyMetrics } from "./steady-metrics.ts";
import { thrownText } from "./thrown-text.ts";
import type { RankHandle, SpawnRequest } from "./transport.ts";

export interface RemoteRankOptions {
  /** Where it runs, in words: `thread 7`. */
  readonly where: string;
  readonly channel: RankChannel;
  /** Meeting point of the group's exchanges, one for all its ranks; absent where the ranks reach each other by themselves. */
  readonly hub?: ExchangeHub;
  /** True once this program closes the transport, with which the rank ends. Default: false. */
  readonly closing?: () => boolean;
  /** Ends the thread or process at once; called for one that does not end by itself, and for one that is given up. */
  readonly kill: (reason: string) => void | Promise<void>;
}

/**
 * Starts a worker behind a channel whose other end runs `serveRank`: the controller's side of every transport that crosses a border.
 * @throws VERL_WORKER_FAILED for what the worker's constructor threw, or its own code; VERL_WORKER_DIED; the reason of `request.signal`. The rank is killed then.
 */
export async function startRank(
  request: SpawnRequest,
  place: RankPlace,
  options: RemoteRankOptions,
): Promise<RankHandle> {
  const rank = new RemoteRank(request, place, options);
  try {
    await rank.start();
    return rank;
  } catch (error) {
    await rank.end("could not be started");
    throw error;
  }
}

class RemoteRank implements RankHandle {
  readonly rank: number;
  readonly place: string;
  private readonly metrics: MetricsSink;
  private readonly calls = new PendingCalls();
  private readonly listeners: ((event: HealthEvent) => void)[] = [];
  private readonly ready: Promise<void>;
  private settleReady!: { resolve: () => void; reject: (error: unknown) => void };
  private nextLive = 0;
  private heardAt = Date.now();
  private silent = false;
  private started = false;
  private stopping = false;
  private death: string | undefined;
  /** What ends the rank, once it has told. */
  private uncaught: Error | undefined;
  private readonly closed: Promise<void>;
  private readonly pinging: NodeJS.Timeout;

  constructor(
    private readonly request: SpawnRequest,
    private readonly at: RankPlace,
    private readonly options: RemoteRankOptions,
  ) {
    this.rank = at.rank;
    this.place = options.where;
    this.metrics = steadyMetrics(request.metrics, request.log, { group: request.name, rank: at.rank });
    this.ready = new Promise((resolve, reject) => (this.settleReady = { resolve, reject }));
    this.ready.catch(() => undefined);
    options.channel.onMessage((message) => this.receive(message));
    this.closed = new Promise((resolve) => {
      options.channel.onClose((reason) => {
        this.die(reason);
        resolve();
      });
    });
    this.pinging = setInterval(() => this.checkHealth(), request.health.pingS * 1000);
    this.pinging.unref();
  }

  async start(): Promise<void> {
    const { signal } = this.request;
    signal.throwIfAborted();
    void this.options.channel.send(startMessage(this.request, this.at));
    await raceAbort(signal, this.ready);
  }

  call(method: string, args: readonly unknown[], call: GroupCall): Promise<unknown> {
    if (this.death !== undefined) return Promise.reject(this.died(method));
    const live = new CallLive(
      () => this.nextLive++,
      (signal, reason) => this.send({ type: "abort", signal, reason }),
    );
    return new Promise((resolve, reject) => {
      const { packed, blobs } = pack(args, `an argument of ${this.request.name}.${method}`, live);
      const id = this.calls.add({ method, whole: call, resolve, reject, live });
      try {
        this.send(
          { type: "call", id, call, method, args: packed },
          blobs,
          `the arguments of ${this.request.name}.${method}`,
        );
        live.follow();
      } catch (error) {
        this.calls.settle(id, (pending) => pending.reject(error));
      }
    });
  }

  interrupt(reason: string, call?: GroupCall): void {
    this.options.hub?.interrupt(call);
    this.send({ type: "interrupt", reason, call });
  }

  onHealth(listener: (event: HealthEvent) => void): void {
    this.listeners.push(listener);
    if (this.death !== undefined && this.death !== WITH_TRANSPORT && !this.stopping) {
      listener({ rank: this.rank, state: "died", reason: this.death, cause: this.uncaught });
    }
  }

  async dispose(): Promise<void> {
    if (this.death === undefined && !this.stopping) {
      this.stopping = true;
      this.send({ type: "stop" });
    }
    await this.end(NOT_STOPPED, STOP_S);
  }

  /** Waits so long for the rank to end by itself, then kills it. */
  async end(reason: string, graceS = 0): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<boolean>((resolve) => (timer = setTimeout(() => resolve(true), graceS * 1000)));
    const ended = await Promise.race([this.closed.then(() => false), late]);
    clearTimeout(timer);
    if (ended) {
      if (this.stopping && this.death === undefined) {
        this.request.log.warn(unended(this.request.name, this.rank, this.place, "it is killed"));
      }
      this.die(reason);
      await this.options.kill(reason);
    }
    clearInterval(this.pinging);
  }

  private receive(message: ChannelMessage): void {
    try {
      this.understand(message);
    } catch (error) {
      this.giveUp(`sent a message that cannot be read: ${reasonOf(error)}`);
    }
  }

  private understand({ head, blobs }: ChannelMessage): void {
    this.heardAt = Date.now();
    if (this.silent) {
      this.silent = false;
      this.tell("back", "answers again");
    }
    const message = head as FromRank;
    switch (message.type) {
      case "ready":
        this.started = true;
        return this.settleReady.resolve();
      case "failed":
        return this.settleReady.reject(
          startFailure(this.request, this.rank, this.place, {
            reason: unpackError(message.error),
            part: message.part,
          }),
        );
      case "result":
        return this.calls.settle(message.id, (call) => {
          this.options.hub?.leave(this.rank, call.whole);
          call.resolve(unpack(message.value, blobs, nothingLive));
        });
      case "error":
        return this.calls.settle(message.id, (call) => {
          const error = unpackError(message.error);
          // The caller compares an abort with the reason of its own signal.
          call.reject(isAbort(error) ? (call.live.abortReason() ?? error) : error);
        });
      case "tell":
        return this.calls.tell(message.id, message.listener, unpack(message.value, blobs, nothingLive));
      case "log":
        return this.request.log[message.level](message.message, message.fields as object | undefined);
      case "metric":
        return this.metrics.add(message.name, unpack(message.value, blobs, nothingLive) as number);
      case "uncaught":
        return void (this.uncaught = unpackError(message.error));
      case "exchange":
        return this.bring(message.turn, unpack(message.value, blobs, nothingLive));
      case "pong":
      case "stopped":
        return;
      default:
        throw new TypeError(`its type is ${JSON.stringify((message as { type: unknown }).type)}`);
    }
  }

  private bring(turn: Turn, value: unknown): void {
    this.options.hub?.bring(this.rank, turn, {
      value,
      deliver: (all) => this.deliver(turn, all),
      missed: (rank) => this.send({ type: "missed", call: turn, rank }),
    });
  }

  /** Where it is too much to be sent, the call fails, and not the rank. */
  private deliver(turn: Turn, all: unknown[]): void {
    try {
      const { packed, blobs } = pack(all, `an exchange of ${this.request.name}`, nothingLive);
      this.send({ type: "exchange", turn, values: packed }, blobs, "what the ranks bring to an exchange");
    } catch (error) {
      const call = { id: turn.id, lane: turn.lane, whole: true };
      this.send({ type: "interrupt", reason: `their exchange failed: ${thrownText(error)}`, call });
    }
  }

  private checkHealth(): void {
    // A start has its own deadline.
    if (this.death !== undefined || !this.started) return;
    const { silentS, lostS } = this.request.health;
    const quiet = (Date.now() - this.heardAt) / 1000;
    if (quiet >= lostS) return this.giveUp(`has given no sign of life for ${lostS} s`);
    if (quiet >= silentS && !this.silent) {
      this.silent = true;
      this.tell("silent", `has given no sign of life for ${Math.round(quiet)} s`);
    }
    this.send({ type: "ping" });
  }

  /** Gives the rank up: it is dead to the controller from now on, and killed. */
  private giveUp(reason: string): void {
    this.die(reason);
    this.options.channel.close(reason);
    void this.options.kill(reason);
  }

  private die(reason: string): void {
    if (this.death !== undefined) return;
    const byProgram = this.options.closing?.() ?? false;
    this.death = byProgram ? WITH_TRANSPORT : this.uncaught ? endedBy(this.uncaught) : reason;
    clearInterval(this.pinging);
    this.settleReady.reject(this.died(startOf(this.request.worker)));
    this.calls.failAll((method) => this.died(method));
    // What the program does itself is no news to it.
    if (!this.stopping && !byProgram) this.tell("died", this.death, this.uncaught);
  }

  private died(method: string): VerlError {
    const { rank, place } = this;
    const call = { group: this.request.name, rank, place, method };
    return this.stopping ? disposedRank(call, this.death) : deadRank(call, this.death!, this.uncaught);
  }

  private tell(state: HealthEvent["state"], reason: string, cause?: Error): void {
    for (const listener of this.listeners) listener({ rank: this.rank, state, reason, cause });
  }

  /** @param what see `SentMessage`. @throws VERL_WORKER_PAYLOAD for one that is too large, of which nothing is sent */
  private send(message: ToRank, blobs: readonly Lent[] = [], what?: string): void {
    if (this.death === undefined) void this.options.channel.send({ head: message, blobs, what });
  }
}
