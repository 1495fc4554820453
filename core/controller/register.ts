import type { DispatchFunctions, DispatchMode } from "./dispatch.ts";
import { bareRegister, requireRegisterOptions } from "./register-options.ts";

export interface RegisterOptions {
  /** Key of a `dispatch` entry, or functions of one's own. Default `ALL_TO_ALL`. */
  dispatchMode?: string | DispatchFunctions;
  /** Key of an `execute` entry: which ranks run the call. Default `ALL`. */
  executeMode?: string;
  /** True (default): starts after earlier blocking calls of the group have ended, as in an actor. False: runs beside them. */
  blocking?: boolean;
  /**
   * True (default): futures among the arguments are waited for before the call is dispatched. False: the dispatch mode is given the
   * futures themselves.
   */
  materializeFutures?: boolean;
}

/** The options of one registered method. */
export interface MethodOptions extends Required<RegisterOptions> {
  dispatchMode: string | (DispatchFunctions & Partial<Pick<DispatchMode, "joinsBatches">>);
}

type AsyncMethod = (...args: never[]) => Promise<unknown>;

/** Under `Symbol.for`, so that a worker decorated by another copy of this package is understood. */
const REGISTERED = Symbol.for("verl.registered_method");

/** What `register` gives: a method decorator for TypeScript's `experimentalDecorators` and for standard ones. */
export interface MethodMark {
  /** A standard decorator. */
  <M extends AsyncMethod>(method: M, context: { readonly kind: "method" }): void;
  /** One of `experimentalDecorators`. */
  <M extends AsyncMethod>(target: object, name: string | symbol, descriptor: TypedPropertyDescriptor<M>): void;
}

/**
 * Marks an async method of a `Worker` as callable through its group, and says how a call is spread over the ranks. A decorator cannot change
 * the type of its class: a group is typed as if every async method had this mark (see `GroupMethods`). Modes are looked up
 * when a group is made: one that nothing is registered as by then is refused before a rank starts.
 * @throws VERL_WORKER_REGISTER for what are no options, as soon as the class is defined.
 */
export function register(options?: RegisterOptions): MethodMark;
export function register(options: RegisterOptions = {}, ...more: unknown[]): MethodMark {
  // Without parentheses it is given what a decorator is given.
  if (more.length > 0) throw bareRegister(nameOf(options, more[0]));
  return (target: object, nameOrContext: unknown, descriptor?: PropertyDescriptor): void => {
    requireRegisterOptions(nameOf(target, nameOrContext), options);
    const { dispatchMode = "ALL_TO_ALL", executeMode = "ALL", blocking = true, materializeFutures = true } = options;
    // A standard decorator is given the method itself.
    const method = (descriptor ? descriptor.value : target) as object;
    Object.defineProperty(method, REGISTERED, { value: { dispatchMode, executeMode, blocking, materializeFutures } });
  };
}

/** The decorated method in words: a standard decorator is not told of its class. */
function nameOf(target: object, nameOrContext: unknown): string {
  if (typeof nameOrContext !== "object" || nameOrContext === null) {
    return `${target.constructor.name}.${String(nameOrContext)}`;
  }
  return "name" in nameOrContext ? String(nameOrContext.name) : "a method";
}

/** The registered methods of a worker class, inherited ones included; an override keeps the mark unless it sets its own. */
export function registeredMethods(workerClass: { readonly prototype: object }): Map<string, MethodOptions> {
  const methods = new Map<string, MethodOptions>();
  for (const [name, value] of eachMethod(workerClass)) {
    const options = (value as { [REGISTERED]?: MethodOptions })[REGISTERED];
    if (options && !methods.has(name)) methods.set(name, options);
  }
  return methods;
}

/** Names of all other methods that objects of the class have. */
export function unregisteredMethods(workerClass: { readonly prototype: object }): string[] {
  const registered = registeredMethods(workerClass);
  const names = new Set(Array.from(eachMethod(workerClass), ([name]) => name));
  return [...names].filter((name) => !registered.has(name) && name !== "constructor");
}

/** The class's own methods first, then those of what it extends. */
function* eachMethod({ prototype }: { readonly prototype: object }): Generator<[name: string, method: object]> {
  for (let proto = prototype; proto !== Object.prototype; proto = Object.getPrototypeOf(proto) as object) {
    for (const name of Object.getOwnPropertyNames(proto)) {
      const value: unknown = Object.getOwnPropertyDescriptor(proto, name)?.value;
      if (typeof value === "function") yield [name, value];
    }
  }
}

/** Calls a worker's registered method by its name. */
export function callRegistered(worker: object, method: string, args: readonly unknown[]): Promise<unknown> {
  const called = Reflect.get(worker, method) as (...args: readonly unknown[]) => Promise<unknown>;
  return called.apply(worker, [...args]);
}
