/** Which ranks run a call: every rank that the dispatch mode gave arguments to, or the first alone. */
export type ExecuteMode = "ALL" | "RANK_ZERO";

export interface RegisterOptions {
  /** Key of a `dispatch` entry. Default `ALL_TO_ALL`. */
  dispatchMode?: string;
  /** Default `ALL`. */
  executeMode?: ExecuteMode;
  /** True (default): starts after earlier blocking calls of the group have ended, as in an actor. False: runs beside them. */
  blocking?: boolean;
}

type AsyncMethod = (...args: never[]) => Promise<unknown>;

/** Under `Symbol.for`, so that a worker decorated by another copy of this package is understood. */
const REGISTERED = Symbol.for("verl.registered_method");

/** Marks an async method of a `Worker` as callable through its group, and says how a call is spread over the ranks. */
export function register(options: RegisterOptions = {}) {
  const { dispatchMode = "ALL_TO_ALL", executeMode = "ALL", blocking = true } = options;
  return <M extends AsyncMethod>(
    _target: object,
    _name: string | symbol,
    descriptor: TypedPropertyDescriptor<M>,
  ): void => {
    Object.defineProperty(descriptor.value, REGISTERED, { value: { dispatchMode, executeMode, blocking } });
  };
}

/** The registered methods of a worker class, inherited ones included; an override keeps the mark unless it sets its own. */
export function registeredMethods(workerClass: { readonly prototype: object }): Map<string, Required<RegisterOptions>> {
  const methods = new Map<string, Required<RegisterOptions>>();
  for (let proto = workerClass.prototype; proto !== Object.prototype; proto = Object.getPrototypeOf(proto) as object) {
    for (const name of Object.getOwnPropertyNames(proto)) {
      const value: unknown = Object.getOwnPropertyDescriptor(proto, name)?.value;
      if (typeof value !== "function" || methods.has(name)) continue;
      const options = (value as { [REGISTERED]?: Required<RegisterOptions> })[REGISTERED];
      if (options) methods.set(name, options);
    }
  }
  return methods;
}
