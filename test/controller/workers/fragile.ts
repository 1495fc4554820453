import { DataProto } from "../../../core/batch/data-proto.ts";
import { NdArray } from "../../../core/batch/nd-array.ts";
import type { Listener } from "../../../core/controller/listener.ts";
import { register } from "../../../core/controller/register.ts";
import { Worker } from "../../../core/controller/worker.ts";
import { containStrayErrors } from "../../../core/errors/stray-errors.ts";

/** What nobody catches, by name. */
const STRAYS: Readonly<Record<string, () => unknown>> = {
  error: () => new RangeError("a timer's error", { cause: new Error("a layer's") }),
  null: () => null,
  undefined: () => undefined,
  symbol: () => Symbol("sign"),
  function: () => parseInt,
  timeout: () => new DOMException("too late", "TimeoutError"),
  proxy: () => new Proxy({}, contrary),
};

const contrary: ProxyHandler<object> = {
  get() {
    throw new Error("no look");
  },
  has() {
    throw new Error("no look");
  },
};

/** A worker that comes to harm in every way that a thread can. */
export class Fragile extends Worker {
  static override readonly module = import.meta.url;

  @register({ dispatchMode: "ONE_TO_ALL" })
  echo(value: unknown): Promise<unknown> {
    return Promise.resolve(value);
  }

  /** Tells its own part of the call's listener, and goes on. */
  @register({ dispatchMode: "ONE_TO_ALL" })
  count(to: number, told: Listener<unknown>): Promise<string> {
    for (let at = 0; at < to; at++) told.tell([this.rank, at, DataProto.fromSingleDict({ at: [at] })]);
    return Promise.resolve("done");
  }

  @register({ dispatchMode: "DP_COMPUTE_PROTO" })
  double(batch: DataProto): Promise<DataProto> {
    const ids = batch.tensor("ids", "int32");
    return Promise.resolve(
      DataProto.fromSingleDict({
        ids: new NdArray(
          "int32",
          ids.shape,
          ids.data.map((id) => id * 2),
        ),
      }),
    );
  }

  @register({ dispatchMode: "ONE_TO_ALL" })
  fine(): Promise<number> {
    return Promise.resolve(this.rank);
  }

  @register({ dispatchMode: "ONE_TO_ALL" })
  async throwOn(rank: number): Promise<void> {
    await this.peers.exchange("before");
    if (this.rank === rank) throw new RangeError("no such layer");
    await this.peers.exchange("after");
  }

  @register({ dispatchMode: "ONE_TO_ALL" })
  async exitOn(rank: number): Promise<void> {
    if (this.rank === rank) process.exit(3);
    await this.peers.exchange("never");
  }

  /** The first rank does its part at once, or exits where it is told to; the others never end. */
  @register({ dispatchMode: "ONE_TO_ALL", blocking: false })
  async firstOnly(begun: Listener<unknown> | null, exit = false): Promise<void> {
    begun?.tell(this.rank);
    if (exit) process.exit(3);
    if (this.rank > 0) await new Promise(() => undefined);
  }

  /** The first rank tells that it has begun and fails, the others never end. */
  @register({ dispatchMode: "ONE_TO_ALL", blocking: false })
  async firstFails(begun: Listener<unknown>): Promise<void> {
    if (this.rank === 0) {
      begun.tell(this.rank);
      throw new RangeError("the root cause");
    }
    await new Promise(() => undefined);
  }

  @register({ dispatchMode: "ONE_TO_ALL" })
  firstOnlyInTurn(): Promise<void> {
    return this.firstOnly(null);
  }

  /** Holds the event loop. */
  @register({ dispatchMode: "ONE_TO_ALL" })
  block(seconds: number): Promise<void> {
    if (this.rank === 1) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, seconds * 1000);
    return Promise.resolve();
  }

  /** Throws outside of every call, in a timer or as a rejection that nobody takes. */
  @register({ dispatchMode: "ONE_TO_ALL" })
  stray(what: string, how: "timer" | "rejection" = "timer"): Promise<void> {
    const stray = (): never => {
      throw STRAYS[what]!();
    };
    if (this.rank === 0) {
      if (how === "timer") setTimeout(stray, 0);
      else void Promise.resolve().then(stray);
    }
    return new Promise(() => undefined);
  }

  /** What was told of the errors that contained code left to nobody, one after the other. */
  @register({ dispatchMode: "ONE_TO_ALL" })
  async containedStrays(): Promise<unknown[]> {
    const told: unknown[] = [];
    for (const how of ["timer", "rejection"]) {
      await new Promise<void>((resolve) => {
        const tell = (error: unknown): void => {
          told.push(error);
          resolve();
        };
        const stray = (): never => {
          throw new RangeError(`of a ${how}`);
        };
        containStrayErrors(tell, () => void (how === "timer" ? setTimeout(stray, 0) : Promise.resolve().then(stray)));
      });
    }
    return told.map(String);
  }

  @register({ dispatchMode: "ONE_TO_ALL", blocking: false })
  untilAborted(signal: AbortSignal): Promise<void> {
    return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error)));
  }

  /** The sum over the ranks of what each one makes, twice; each rank gives back what it got. */
  @register({ dispatchMode: "ONE_TO_ALL" })
  async sums(length: number): Promise<Float32Array> {
    const values = Float32Array.from({ length }, (_, at) => Math.fround(Math.sin(at + 1) * (this.rank + 1)));
    await this.peers.sum(values);
    await this.peers.sum(values);
    return values;
  }

  @register({ dispatchMode: "ONE_TO_ALL" })
  tell(): Promise<void> {
    this.logger.warn(`rank ${this.rank} speaks`);
    this.metrics.add("told", this.rank);
    return Promise.resolve();
  }
}
