import { VerlError } from "../errors/index.ts";
import type { Worker, WorkerClass, WorkerContext } from "./worker.ts";

/** Where another thread or process finds a worker class. */
export interface WorkerSource {
  /** `file:` URL of a module, or a package that Node resolves from this one (`verl`). */
  readonly module: string;
  /** The export's name. */
  readonly name: string;
}

/** A `ClassWithInitArgs` of any class, as transports see it. */
export interface DeferredWorker {
  readonly workerClass: { readonly name: string; readonly prototype: object };
  readonly args: readonly unknown[];
  readonly source: WorkerSource;
  /** Constructs the worker in this thread. */
  construct(context: WorkerContext): Worker;
}

/** A worker class and what its constructor is given after the context: a construction that happens later, once in every rank. */
export class ClassWithInitArgs<
  W extends Worker = Worker,
  Args extends unknown[] = unknown[],
> implements DeferredWorker {
  readonly args: Args;

  constructor(
    readonly workerClass: WorkerClass<W, Args>,
    ...args: Args
  ) {
    this.args = args;
  }

  construct(context: WorkerContext): W {
    return new this.workerClass(context, ...this.args);
  }

  /**
   * Where the class can be imported from.
   * @throws VERL_WORKER_MODULE for a class that does not say so itself; what a base class says is about the base.
   */
  get source(): WorkerSource {
    const { name } = this.workerClass;
    const module = Object.hasOwn(this.workerClass, "module") ? this.workerClass.module : undefined;
    if (module !== undefined && name !== "") return { module, name };
    throw new VerlError(
      "VERL_WORKER_MODULE",
      `The worker class ${name || "without a name"} does not say where another thread or process finds it.`,
      { hint: "Export it under its name, and give it `static readonly module = import.meta.url;`." },
    );
  }
}
