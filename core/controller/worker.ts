/** Where a worker stands among the workers of its group. */
export interface WorkerContext {
  /** 0-based. */
  rank: number;
  worldSize: number;
}

/** One member of a `WorkerGroup`. The controller reaches the methods marked with `@register`, each of which is async. */
export abstract class Worker {
  readonly rank: number;
  readonly worldSize: number;

  constructor({ rank, worldSize }: WorkerContext) {
    this.rank = rank;
    this.worldSize = worldSize;
  }

  /** Frees what the worker holds; called once, when its group is disposed. */
  dispose(): void | Promise<void> {}
}

/** A worker class: the context first, then what the caller of `WorkerGroup.create` hands over. */
export type WorkerClass<W extends Worker, Args extends unknown[]> = new (context: WorkerContext, ...args: Args) => W;
