import { VerlError } from "../errors/index.ts";
import { reasonOf } from "../errors/reason-of.ts";
import { plainFacts } from "../errors/plain-facts.ts";
import { importSource, loadPlugin, type Logger, type MetricsSink } from "../registry/index.ts";
import type { WorkerPart } from "./class-with-init-args.ts";
import { constructParts, methodsOf } from "./colocated.ts";
import { undisposed } from "./rank-end.ts";
import { Listener } from "./listener.ts";
import { packError, unpackError } from "./packed-error.ts";
import { failedPart, PartFailure } from "./part-failure.ts";
import { nothingLive, pack, unpack, type LiveBridge } from "./payload.ts";
import { MeetingPeers, type CallKey, type Turn } from "./peers.ts";
import type { ChannelMessage, Lent, RankChannel } from "./rank-channel.ts";
import { importForRank } from "./rank-import.ts";
import { PROTOCOL, type FromRank, type PackedError, type RankSpec, type ToRank } from "./rank-protocol.ts";
import { callRegistered } from "./register.ts";
import { steadyMetrics } from "./steady-metrics.ts";
import { textOf } from "./thrown-text.ts";
import { isWorkerClass, type Worker, type WorkerClass } from "./worker.ts";

export interface ServeOptions {
  /** How the ranks reach each other. Default: through the controller. */
  readonly peers?: (spec: RankSpec) => MeetingPeers;
}

/**
 * The rank's side of a channel: waits for `start`, loads the plugins, constructs the worker, and runs the calls that come, until the
 * controller says `stop` or the channel is lost. What a thread's or a process's entry does after it has made its channel.
 * @returns when the worker is disposed; ending the process is the caller's.
 */
export function serveRank(channel: RankChannel, options: ServeOptions = {}): Promise<void> {
  return new Promise((resolve) => new RankServer(channel, options, resolve));
}

/** Characters that are left of a line of the log that is too long to be sent. */
const CUT_LINE = 1000;

class RankServer {
  private worker: Worker | undefined;
  private name = "";
  private rank = 0;
  private methods: ReadonlySet<string> = new Set();
  private readonly signals = new Map<number, AbortController>();
  private readonly exchanges = new Map<string, { id: number; resolve: (values: unknown[]) => void }>();
  private peers: MeetingPeers | undefined;
  private ended = false;

  constructor(
    private readonly channel: RankChannel,
    private readonly options: ServeOptions,
    private readonly done: () => void,
  ) {
    channel.onMessage((message) => this.receive(message));
    channel.onClose(() => void this.end());
  }

  private receive(message: ChannelMessage): void {
    try {
      this.understand(message);
    } catch (error) {
      this.channel.close(`sent a message that cannot be read: ${reasonOf(error)}`);
    }
  }

  private understand({ head, blobs }: ChannelMessage): void {
    const message = head as ToRank;
    switch (message.type) {
      case "start":
        return void this.start(message, blobs);
      case "call":
        return void this.call(message, blobs);
      case "abort":
        return this.abort(message.signal, message.reason);
      case "exchange":
        return this.met(message.turn, unpack(message.values, blobs, nothingLive) as unknown[]);
      case "interrupt":
        this.forgetExchanges(message.call);
        return this.peers?.interrupt(message.reason, message.call);
      case "missed":
        this.forgetExchanges(message.call);
        return this.peers?.missed(message.rank, message.call);
      case "ping":
        return this.send({ type: "pong" });
      case "stop":
        return void this.end();
      default:
        throw new TypeError(`its type is ${JSON.stringify((message as { type: unknown }).type)}`);
    }
  }

  private async start(
    { protocol, spec, args }: Extract<ToRank, { type: "start" }>,
    blobs: readonly Uint8Array[],
  ): Promise<void> {
    try {
      if ((protocol as number) !== PROTOCOL) {
        throw new VerlError(
          "VERL_CONTROLLER_PROTOCOL",
          `The controller speaks another version of the protocol than this rank, which speaks ${PROTOCOL}.`,
          { hint: "Install the same version of verl on every machine." },
        );
      }
      const { name, rank, worldSize, localRank, localWorldSize, env } = spec;
      const log = this.logger();
      const values = unpack(args, blobs, nothingLive) as unknown[][];
      const classes = await importForRank(`rank ${rank} of ${name}`, async () => {
        for (const plugin of spec.plugins) await loadPlugin(plugin);
        return importWorkers(spec.parts);
      });
      const parts = spec.parts.map(({ role }, index): WorkerPart => {
        return { role, workerClass: classes[index]!, args: values[index]! };
      });
      this.peers = this.options.peers?.(spec) ?? this.peersThroughController(spec);
      this.worker = constructParts(
        {
          rank,
          worldSize,
          localRank,
          localWorldSize,
          env,
          peers: this.peers,
          log,
          metrics: steadyMetrics(this.metrics(), log, { group: name, rank }),
        },
        parts,
      );
      this.name = name;
      this.rank = rank;
      this.methods = methodsOf(parts);
      this.send({ type: "ready" });
    } catch (error) {
      const { reason, part } = failedPart(error);
      this.sendError(reason, (packed) => ({ type: "failed", error: packed, part }));
    }
  }

  private async call(
    { id, call, method, args }: Extract<ToRank, { type: "call" }>,
    blobs: readonly Uint8Array[],
  ): Promise<void> {
    const numbers: number[] = [];
    const bridge: LiveBridge = {
      numberOf: (live) => nothingLive.numberOf(live),
      signalOf: (number) => {
        numbers.push(number);
        const controller = new AbortController();
        this.signals.set(number, controller);
        return controller.signal;
      },
      listenerOf: (listener) =>
        new Listener((value) => {
          const { packed, blobs: bytes } = pack(value, `what ${this.name}.${method} tells`, nothingLive);
          this.send({ type: "tell", id, listener, value: packed }, bytes, `what ${this.name}.${method} tells`);
        }),
    };
    try {
      const { worker, peers } = this;
      if (!worker || !peers || !this.methods.has(method)) {
        throw new VerlError("VERL_WORKER_METHOD_UNKNOWN", `${this.name} has no registered method "${method}".`);
      }
      const values = unpack(args, blobs, bridge) as unknown[];
      const result = await peers.within(call, `${this.name}.${method}`, () => callRegistered(worker, method, values));
      const what = `the result of ${this.name}.${method}`;
      const { packed, blobs: bytes } = pack(result, what, nothingLive);
      this.send({ type: "result", id, value: packed }, bytes, what);
    } catch (error) {
      this.sendError(error, (packed) => ({ type: "error", id, error: packed }));
    } finally {
      for (const number of numbers) this.signals.delete(number);
      this.forgetExchanges(call);
    }
  }

  private abort(number: number, reason: PackedError): void {
    this.signals.get(number)?.abort(unpackError(reason));
  }

  private peersThroughController({ rank, worldSize, name }: RankSpec): MeetingPeers {
    return new MeetingPeers(rank, worldSize, (next, value) => {
      const { packed, blobs } = pack(value, `an exchange of ${name}`, nothingLive);
      const turn = next();
      this.send({ type: "exchange", turn, value: packed }, blobs, `what rank ${rank} brings to an exchange of ${name}`);
      return new Promise((resolve) => this.exchanges.set(turnKey(turn), { id: turn.id, resolve }));
    });
  }

  private met(turn: Turn, values: unknown[]): void {
    this.exchanges.get(turnKey(turn))?.resolve(values);
    this.exchanges.delete(turnKey(turn));
  }

  /** Nobody waits any more for the exchanges of a call, or of any. */
  private forgetExchanges(call?: CallKey): void {
    for (const [key, { id }] of this.exchanges) if (!call || call.id === id) this.exchanges.delete(key);
  }

  private logger(): Logger {
    const seen = new Set<string>();
    const at = (level: "debug" | "info" | "warn") => (message: string, fields?: object) => {
      const text = textOf(message);
      try {
        this.send({ type: "log", level, message: text, fields: plainFacts(fields) });
      } catch {
        this.send({ type: "log", level, message: `${text.slice(0, CUT_LINE)}… [${text.length} characters in all]` });
      }
    };
    const warn = at("warn");
    return {
      debug: at("debug"),
      info: at("info"),
      warn,
      warnOnce(code, message) {
        if (seen.has(code)) return;
        seen.add(code);
        warn(message);
      },
    };
  }

  private metrics(): MetricsSink {
    return {
      add: (name, value) => this.send({ type: "metric", name, value: pack(value, name, nothingLive).packed }),
    };
  }

  private async end(): Promise<void> {
    if (this.ended) return;
    this.ended = true;
    for (const controller of this.signals.values()) controller.abort();
    try {
      await this.worker?.dispose();
    } catch (error) {
      this.send({ type: "log", level: "warn", message: undisposed(this.name, this.rank, error) });
    }
    this.send({ type: "stopped" });
    this.channel.close();
    this.done();
  }

  /** An error whose words are too many to be sent is told of all the same. */
  private sendError(error: unknown, message: (packed: PackedError) => FromRank): void {
    try {
      this.send(message(packError(error)), [], "an error");
    } catch (tooLarge) {
      this.send(message(packError(tooLarge)));
    }
  }

  /** @param what see `SentMessage`. @throws VERL_WORKER_PAYLOAD for one that is too large, of which nothing is sent */
  private send(message: FromRank, blobs: readonly Lent[] = [], what?: string): void {
    void this.channel.send({ head: message, blobs, what });
  }
}

const turnKey = ({ id, round }: Turn): string => `${id}/${round}`;

/** @throws PartFailure where there are several */
function importWorkers(parts: RankSpec["parts"]): Promise<WorkerClass[]> {
  const [only] = parts;
  if (parts.length === 1) return Promise.all([importWorker(only!)]);
  const failed = (part: number) => (error: unknown) => {
    throw new PartFailure(part, error);
  };
  return Promise.all(parts.map((part, index) => importWorker(part).catch(failed(index))));
}

async function importWorker({ module, name }: RankSpec["parts"][number]): Promise<WorkerClass> {
  const found = (await importSource(module))[name];
  if (isWorkerClass(found)) return found;
  throw new VerlError("VERL_WORKER_MODULE", `${module} exports no worker class "${name}".`, {
    hint: "Export the class, which extends Worker, under its own name.",
  });
}
