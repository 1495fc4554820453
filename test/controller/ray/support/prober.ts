import { register, Worker, type WorkerContext } from "verl";

/** What the tests ask a rank of a cluster for. */
export class Prober extends Worker {
  static override readonly module = import.meta.url;

  constructor(context: WorkerContext, fault?: string) {
    super(context);
    if (fault !== undefined && context.rank === 1) throw new RangeError(fault);
  }

  @register({ dispatchMode: "ONE_TO_ALL" })
  pid(): Promise<number> {
    return Promise.resolve(process.pid);
  }

  @register({ dispatchMode: "ONE_TO_ALL" })
  variables(names: readonly string[]): Promise<(string | null)[]> {
    return Promise.resolve(names.map((name) => process.env[name] ?? null));
  }

  @register({ dispatchMode: "ONE_TO_ALL" })
  async sum(values: Float32Array): Promise<Float32Array> {
    await this.peers.sum(values);
    return values;
  }

  @register({ dispatchMode: "ONE_TO_ALL" })
  async wait(milliseconds: number): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, milliseconds));
  }

  /** The first rank does its part at once; the others never end. */
  @register({ dispatchMode: "ONE_TO_ALL" })
  async firstOnly(): Promise<void> {
    if (this.rank > 0) await new Promise(() => undefined);
  }

  /** The second rank throws null, which nobody catches. */
  @register({ dispatchMode: "ONE_TO_ALL" })
  stray(): Promise<void> {
    if (this.rank === 1) {
      setTimeout(() => {
        throw null as unknown;
      }, 5);
    }
    return new Promise(() => undefined);
  }

  /** Keeps more than the heap holds. */
  @register({ dispatchMode: "ONE_TO_ALL" })
  fillHeap(): Promise<void> {
    for (const kept: number[][] = []; ; kept.push(Array.from({ length: 1000 }, Math.random)));
  }

  @register({ dispatchMode: "ONE_TO_ALL" })
  text(length: number, _given?: string): Promise<string> {
    return Promise.resolve("x".repeat(length));
  }

  /** Holds the event loop. */
  @register({ dispatchMode: "ONE_TO_ALL" })
  block(milliseconds: number): Promise<number> {
    for (const end = Date.now() + milliseconds; Date.now() < end;);
    return Promise.resolve(this.rank);
  }
}
