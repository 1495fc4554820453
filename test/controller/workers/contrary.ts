import type { DataProto } from "../../../core/batch/data-proto.ts";
import { register } from "../../../core/controller/register.ts";
import { Worker, type WorkerContext } from "../../../core/controller/worker.ts";
import { VerlError } from "../../../core/errors/index.ts";

/** What a worker may throw, by name. */
const THROWN: Readonly<Record<string, () => unknown>> = {
  error: () => new RangeError("no such layer"),
  bare: () => Object.create(null) as object,
  getter: () => ({
    get message(): string {
      throw new Error("no message");
    },
  }),
  object: () => ({ message: "in an object" }),
  facts: () => ({ a: 1, of: [NaN, new Map()] }),
  list: () => [{ a: 1 }, 2],
  large: () => ({ a: "x".repeat(1000) }),
  proxy: () =>
    new Proxy(
      {},
      {
        has() {
          throw new Error("no look");
        },
      },
    ),
  symbol: () => Symbol("sign"),
  cause: () => new Error("outer", { cause: Object.create(null) }),
  verl: () => new VerlError("VERL_BATCH_SHAPE", "odd shapes", { hint: "look", details: { rows: 3 } }),
  nothing: () => undefined,
  aggregate: () =>
    new AggregateError(
      [
        new TypeError("one", { cause: new Error("why") }),
        new VerlError("VERL_BATCH_SHAPE", "two"),
        new AggregateError([new Error("three")], "more"),
      ],
      "both",
    ),
  abort: () => new DOMException("gave up", "AbortError"),
};

/** A worker that does what it should not. */
export class Contrary extends Worker {
  static override readonly module = import.meta.url;

  @register({ dispatchMode: "ONE_TO_ALL" })
  fine(): Promise<number> {
    return Promise.resolve(this.rank);
  }

  @register({ dispatchMode: "ONE_TO_ALL" })
  async throwOn(rank: number, what: string): Promise<void> {
    await Promise.resolve();
    if (this.rank === rank) throw THROWN[what]!();
  }

  @register({ dispatchMode: "ONE_TO_ALL", blocking: false })
  throwBeside(rank: number): Promise<void> {
    return this.throwOn(rank, "error");
  }

  /** Adds up as many ones as its rank is told; what it fails with is the result. */
  @register({ dispatchMode: "ONE_TO_ALL" })
  async sumOnes(lengths: readonly number[], doubles = false): Promise<string> {
    const length = lengths[this.rank]!;
    const values = doubles && this.rank === 0 ? new Float64Array(length).fill(1) : new Float32Array(length).fill(1);
    try {
      await this.peers.sum(values);
      return `sum ${new Set(values).size === 1 ? values[0] : "mixed"}`;
    } catch (error) {
      return (error as Error).message;
    }
  }

  /** Adds up what the argument names; what it fails with is the result. */
  @register({ dispatchMode: "ONE_TO_ALL" })
  async sumOdd(what: "list" | "word" | "nothing"): Promise<[message: string, hint?: string]> {
    const odd = { list: [new Float32Array(1)], word: "abc", nothing: null }[what];
    try {
      await this.peers.sum(odd as never);
      return ["done"];
    } catch (error) {
      const { message, hint } = error as VerlError;
      return [message, hint];
    }
  }

  /** A batch of every rank but one. */
  @register({ dispatchMode: "DP_COMPUTE_PROTO" })
  noBatchOn(batch: DataProto, rank: number, what: unknown): Promise<DataProto> {
    return Promise.resolve(this.rank === rank ? (what as DataProto) : batch);
  }

  @register({ dispatchMode: "ONE_TO_ALL", blocking: false })
  untilAborted({ signal }: { signal: AbortSignal }): Promise<void> {
    return new Promise((_, reject) => {
      signal.addEventListener("abort", () => reject(signal.reason as Error));
      if (signal.aborted) reject(signal.reason as Error);
    });
  }
}

/** A worker whose second rank cannot be constructed. */
export class Unborn extends Worker {
  static override readonly module = import.meta.url;

  constructor(context: WorkerContext, what: string) {
    super(context);
    if (this.rank === 1) throw THROWN[what]!();
  }
}

/** A worker that notes in a list of this thread that it is disposed. */
export class Noted extends Worker {
  static override readonly module = import.meta.url;
  static readonly disposed: number[] = [];

  override dispose(): void {
    Noted.disposed.push(this.rank);
  }
}

/** A worker that another thread looks for where it is not. */
export class Lost extends Worker {
  static override readonly module = new URL("./nowhere.ts", import.meta.url).href;
}

/** A worker that takes its time to end, and fails at it. */
export class Stubborn extends Worker {
  static override readonly module = import.meta.url;

  override async dispose(): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, 50));
    throw new Error("it is stuck");
  }
}

/** A worker that is never constructed: its thread waits until it is ended. */
export class Unending extends Worker {
  static override readonly module = import.meta.url;

  constructor(context: WorkerContext) {
    super(context);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  }
}
