import { blameOf, isVerlError, VerlError } from "../errors/index.ts";
import { reasonOf } from "../errors/reason-of.ts";
import { isAbort } from "../errors/is-abort.ts";
import { kindInfo, type Kind } from "./kinds.ts";
import { registries } from "./registries.ts";

/** Does what an entry is asked for. What that throws, or rejects with, is told as the entry's: its kind, key and package. */
export function inNameOf<T>(kind: Kind, key: string, work: () => T): T {
  const told = (error: unknown): never => {
    throw asFaultOf(kind, key, error);
  };
  try {
    const result = work();
    return result instanceof Promise ? (result.catch(told) as T) : result;
  } catch (error) {
    return told(error);
  }
}

/** The same for every method of an instance that an entry's class made. */
export function allInNameOf<T extends object>(kind: Kind, key: string, instance: T): T {
  return new Proxy(instance, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      return (...args: unknown[]) => inNameOf(kind, key, (): unknown => Reflect.apply(value, target, args));
    },
  });
}

/**
 * An error as that of an entry. Aborts, errors that are the user's to mend, and those that say whose they are, stay as they are.
 * @returns VERL_ENTRY_FAILED, or the same code for an error of this package.
 */
export function asFaultOf(kind: Kind, key: string, error: unknown): unknown {
  if (isAbort(error) || saysWhose(error)) return error;
  if (!registries[kind].has(key)) return error;
  const { key: canonical, source } = registries[kind].find(key);
  const { code, hint, location, details } = isVerlError(error) ? error : ({ code: "VERL_ENTRY_FAILED" } as const);
  const reason = reasonOf(error);
  return new VerlError(code, `The ${kindInfo(kind).title} "${canonical}" of ${source} failed: ${reason}`, {
    hint: hint ?? `This is for the author of ${source} to mend.`,
    location: { ...location, plugin: source },
    cause: error,
    details: { ...details, kind, key: canonical },
  });
}

const saysWhose = (error: unknown): boolean =>
  isVerlError(error) &&
  (blameOf(error) === "user" ||
    error.details?.["kind"] !== undefined ||
    error.location?.file !== undefined ||
    error.location?.plugin !== undefined);
