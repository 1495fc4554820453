import { VerlError } from "../errors/index.ts";
import { requireWorkerClass } from "./group-arguments.ts";
import { registeredMethods, type MethodOptions } from "./register.ts";
import type { Worker, WorkerClass, WorkerContext } from "./worker.ts";

/** Where another thread or process finds a worker class. */
export interface WorkerSource {
  /** `file:` URL of a module, or a package that Node resolves from this one (`verl`). */
  readonly module: string;
  /** The export's name. */
  readonly name: string;
}

/** One class of what a rank constructs, and its constructor's arguments after the context. */
export interface WorkerPart {
  /** Its name among the workers that share the rank; "" where it stands alone. */
  readonly role: string;
  readonly workerClass: { readonly name: string; readonly prototype: object; readonly module?: string };
  readonly args: readonly unknown[];
}

/** What each rank of a group constructs, as groups and transports see it: a `ClassWithInitArgs`, or several under one roof. */
export interface DeferredWorker<W extends Worker = Worker> {
  /** Name of the class, for messages. */
  readonly className: string;
  /** What can be called, by name. */
  readonly methods: ReadonlyMap<string, MethodOptions>;
  readonly parts: readonly WorkerPart[];
  /** Constructs the worker in this thread. */
  construct(context: WorkerContext): W;
}

/** A worker class and what its constructor is given after the context: a construction that happens later, once in every rank. */
export class ClassWithInitArgs<
  W extends Worker = Worker,
  Args extends unknown[] = unknown[],
> implements DeferredWorker<W> {
  readonly args: Args;

  /** @throws VERL_WORKER_ARGUMENT for what is no worker class */
  constructor(
    readonly workerClass: WorkerClass<W, Args>,
    ...args: Args
  ) {
    requireWorkerClass(workerClass);
    this.args = args;
  }

  get className(): string {
    return this.workerClass.name;
  }

  get methods(): ReadonlyMap<string, MethodOptions> {
    return registeredMethods(this.workerClass);
  }

  get parts(): readonly WorkerPart[] {
    return [{ role: "", workerClass: this.workerClass, args: this.args }];
  }

  construct(context: WorkerContext): W {
    return new this.workerClass(context, ...this.args);
  }
}

/**
 * Where the class can be imported from.
 * @throws VERL_WORKER_MODULE for a class that does not say so itself; what a base class says is about the base.
 */
export function sourceOf({ workerClass }: WorkerPart): WorkerSource {
  const { name } = workerClass;
  const module = Object.hasOwn(workerClass, "module") ? workerClass.module : undefined;
  if (module !== undefined && name !== "") return { module, name };
  throw new VerlError(
    "VERL_WORKER_MODULE",
    `The worker class ${name || "without a name"} does not say where another thread or process finds it.`,
    { hint: "Export it under its name, and give it `static readonly module = import.meta.url;`." },
  );
}
