import { VerlError } from "../errors/index.ts";
import type { DeferredWorker, WorkerPart } from "./class-with-init-args.ts";
import { requireDeferred } from "./group-arguments.ts";
import { PartFailure } from "./part-failure.ts";
import { callRegistered, registeredMethods, type MethodOptions } from "./register.ts";
import { thrownText } from "./thrown-text.ts";
import { Worker, type WorkerClass, type WorkerContext } from "./worker.ts";

/** Worker classes by role: a `ClassWithInitArgs` each. */
export type Roles = Readonly<Record<string, DeferredWorker>>;

const ROLE = /^[A-Za-z][A-Za-z0-9_]*$/;

/**
 * Several workers that share a rank's thread or process: each rank constructs one of each. Its group has every registered method as
 * `<role>_<method>`; `spawn` gives each role a group of its own, with the methods' own names. In a rank the workers find each other by
 * role in `colleagues`.
 */
export class ColocatedWorkerClass<R extends Roles = Roles> implements DeferredWorker {
  readonly parts: readonly WorkerPart[];
  readonly methods: ReadonlyMap<string, MethodOptions>;

  /** @throws VERL_WORKER_METHOD_TAKEN when two roles come to the same name; VERL_WORKER_ARGUMENT for what are no roles. */
  constructor(readonly roles: R) {
    const entries = Object.entries(roles ?? {});
    if (entries.length === 0) throw refused("There is no worker to be colocated.", "Give at least one, by its role.");
    const odd = entries.find(([role]) => !ROLE.test(role));
    if (odd) {
      throw refused(
        `"${odd[0]}" cannot be the role of a colocated worker.`,
        "A role is a letter, then letters, digits and _.",
      );
    }
    for (const [role, worker] of entries) requireOne(role, worker);
    this.parts = entries.flatMap(([role, worker]) => worker.parts.map((part) => ({ ...part, role })));
    const methods = new Map<string, MethodOptions>();
    for (const { role, workerClass } of this.parts) {
      for (const [method, options] of registeredMethods(workerClass)) {
        const name = `${role}_${method}`;
        if (methods.has(name)) {
          throw new VerlError("VERL_WORKER_METHOD_TAKEN", `Two colocated workers come to a method "${name}".`, {
            hint: "Choose roles that do not begin alike.",
          });
        }
        methods.set(name, options);
      }
    }
    this.methods = methods;
  }

  get className(): string {
    return `[${this.parts.map(({ role }) => role).join(", ")}]`;
  }

  construct(context: WorkerContext): Worker {
    return constructParts(context, this.parts);
  }
}

const refused = (message: string, hint: string): VerlError => new VerlError("VERL_WORKER_ARGUMENT", message, { hint });

/** Roles have no roles in turn. */
function requireOne(role: string, worker: DeferredWorker): void {
  requireDeferred(`The colocated worker "${role}"`, worker);
  const own = worker.parts.flatMap((part) => (part.role === "" ? [] : [part.role]));
  if (own.length === 0) return;
  throw refused(
    `The colocated worker "${role}" is made of colocated workers itself: ${own.join(", ")}.`,
    "Name all of them side by side in one createColocatedWorkerClass.",
  );
}

/** Workers under one roof: verl's `create_colocated_worker_cls`. */
export function createColocatedWorkerClass<const R extends Roles>(roles: R): ColocatedWorkerClass<R> {
  return new ColocatedWorkerClass(roles);
}

/** The worker that a rank runs: the only part, or all of them as one. @throws PartFailure for what one of several threw */
export function constructParts(context: WorkerContext, parts: readonly WorkerPart[]): Worker {
  const construct = ({ workerClass, args }: WorkerPart, own: WorkerContext): Worker =>
    new (workerClass as WorkerClass)(own, ...args);
  const [only] = parts;
  if (parts.length === 1 && only!.role === "") return construct(only!, context);
  const colleagues = new Map<string, Worker>();
  parts.forEach((part, index) => {
    try {
      colleagues.set(part.role, construct(part, { ...context, colleagues }));
    } catch (error) {
      throw new PartFailure(index, error, [...colleagues.values()]);
    }
  });
  return new ColocatedWorkers(context, colleagues);
}

/** The methods that a worker of these parts lets itself be called by. */
export function methodsOf(parts: readonly WorkerPart[]): Set<string> {
  return new Set(
    parts.flatMap(({ role, workerClass }) =>
      [...registeredMethods(workerClass).keys()].map((method) => (role === "" ? method : `${role}_${method}`)),
    ),
  );
}

/** Passes `<role>_<method>` on to the worker of that role. */
class ColocatedWorkers extends Worker {
  constructor(
    context: WorkerContext,
    private readonly members: ReadonlyMap<string, Worker>,
  ) {
    super(context);
    for (const [role, worker] of members) {
      for (const method of registeredMethods(worker.constructor).keys()) {
        Object.defineProperty(this, `${role}_${method}`, {
          value: (...args: unknown[]) => callRegistered(worker, method, args),
        });
      }
    }
  }

  override async dispose(): Promise<void> {
    const failures: string[] = [];
    for (const [role, worker] of [...this.members].reverse()) {
      try {
        await worker.dispose();
      } catch (error) {
        failures.push(`${role}: ${thrownText(error)}`);
      }
    }
    // The others are disposed all the same.
    if (failures.length > 0) throw new Error(failures.join("; "));
  }
}
