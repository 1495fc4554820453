/** Lets at most `limit` pieces of work run at once; the others wait in line, and leave it when their signal fires. */
export class Limiter {
  private free: number;
  private readonly waiting = new Set<() => void>();

  constructor(limit: number) {
    this.free = limit;
  }

  async run<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    signal?.throwIfAborted();
    if (this.free > 0) this.free--;
    else await this.turn(signal);
    try {
      return await work();
    } finally {
      const [next] = this.waiting;
      if (next === undefined) this.free++;
      else next();
    }
  }

  /** The place of one that ends passes straight to the next in line. */
  private turn(signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const abort = (): void => {
        this.waiting.delete(next);
        reject(signal!.reason as Error);
      };
      const next = (): void => {
        this.waiting.delete(next);
        signal?.removeEventListener("abort", abort);
        resolve();
      };
      this.waiting.add(next);
      signal?.addEventListener("abort", abort, { once: true });
    });
  }
}
