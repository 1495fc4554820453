import { AsyncLocalStorage } from "node:async_hooks";

/** Work that is done one after the other, in the order in which it was given. */
class Queue {
  constructor(private tail: Promise<unknown>) {}

  add<T>(work: () => Promise<T>): Promise<T> {
    const result = this.tail.then(work);
    this.tail = result.catch(() => undefined);
    return result;
  }

  /** Settles with what was given last. */
  get end(): Promise<unknown> {
    return this.tail;
  }
}

/** What is made for work that waits for its turn; a function that makes it may take turns, of these and others. */
interface Making {
  readonly turns: Turns;
  /** What comes before the work that waits. */
  readonly before: Queue;
  /** False once it is made. */
  open: boolean;
  readonly outer: Making | undefined;
}

const current = new AsyncLocalStorage<Making>();

/** Whose turn it is. */
export class Turns {
  private readonly queue = new Queue(Promise.resolve());

  /**
   * Does the work once all that was given before is done.
   * @param make makes what the work needs. A turn that it takes comes before the work, even if the work's place in the order was taken
   *   first: either would wait for the other otherwise. Default: nothing is needed.
   */
  take<T>(work: () => Promise<T>, make?: () => Promise<unknown>): Promise<T> {
    let outer = current.getStore();
    while (outer && !(outer.turns === this && outer.open)) outer = outer.outer;
    const queue = outer?.before ?? this.queue;
    if (!make) return queue.add(work);
    let begin: (() => void) | undefined;
    const before = new Queue(new Promise<void>((resolve) => (begin = resolve)));
    const making: Making = { turns: this, before, open: true, outer: current.getStore() };
    const made = current.run(making, make).finally(() => (making.open = false));
    made.catch(() => undefined);
    return queue.add(async () => {
      begin!();
      await made;
      await before.end;
      return work();
    });
  }

  /** Settles once all that was given is done. */
  get end(): Promise<unknown> {
    return this.queue.end;
  }
}
