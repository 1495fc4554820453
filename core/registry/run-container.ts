import type { DependencyContainer, InjectionToken } from "tsyringe";
import { isVerlError, VerlError, type ErrorLocation } from "../errors/index.ts";
import { childContainer } from "./container.ts";
import type { ClassEntry } from "./entry.ts";
import { injectionFault } from "./injection-fault.ts";
import { kindInfo, type Kind } from "./kinds.ts";
import { resolveOptions, type LocateOption } from "./options.ts";
import type { InstanceOf } from "./register.ts";
import { registries } from "./registries.ts";
import type { Registration } from "./store.ts";
import { OPTIONS, type TokenValues } from "./tokens.ts";

export interface CreateOptions {
  /** The entry's options as the config gives them; validated by its schema and injected as `OPTIONS`. Default: `{}`. */
  options?: Readonly<Record<string, unknown>> | null;
  /** Where the options were written, for messages. */
  locate?: ErrorLocation | LocateOption;
  /** Further values for this one instance, by token. */
  values?: TokenValues;
}

/** Constructs the classes of one run. Two runs in one process share no value and no instance. */
export interface RunContainer {
  /**
   * Resolves `key`, validates its options, and constructs its class, each `@inject(TOKEN)` parameter from the run's values.
   * @throws VERL_REGISTRY_KEY_UNKNOWN, VERL_OPTIONS_INVALID, VERL_INJECT_UNRESOLVED, VERL_INJECT_FAILED
   */
  create<K extends Kind>(kind: K, key: string, options?: CreateOptions): InstanceOf<K>;
  /** Binds more values for what is created from now on, for example `{ [ROLLOUT]: engine }` once it exists. */
  bind(values: TokenValues): void;
}

/** A container for one run: `createRunContainer({ [CONFIG]: config, [LOGGER]: logger })`. */
export function createRunContainer(values: TokenValues = {}): RunContainer {
  const container = childContainer();
  bind(container, values);
  return {
    create<K extends Kind>(kind: K, key: string, { options, locate, values: own = {} }: CreateOptions = {}) {
      const resolved = resolveOptions(kind, key, options, locate);
      const registration = registries[kind].find(key) as Registration<ClassEntry<object>>;
      const scope = childContainer(container);
      bind(scope, { ...own, [OPTIONS]: resolved });
      return construct(scope, registration) as InstanceOf<K>;
    },
    bind: (more) => bind(container, more),
  };
}

function bind(container: DependencyContainer, values: TokenValues): void {
  for (const token of Object.getOwnPropertySymbols(values)) container.register(token, { useValue: values[token] });
}

function construct(container: DependencyContainer, registration: Registration<ClassEntry<object>>): object {
  const { kind, key, entry, source } = registration;
  const whose = `the ${kindInfo(kind).title} "${key}" of ${source}`;
  const blame = { location: { plugin: source }, details: { kind, key } };

  const fault = injectionFault(entry.create, (token) => container.isRegistered(token as InjectionToken, true));
  if (fault !== undefined) {
    throw new VerlError("VERL_INJECT_UNRESOLVED", `${fault.what}, for ${whose}.`, { ...blame, hint: fault.hint });
  }
  try {
    return container.resolve(entry.create as new () => object);
  } catch (cause) {
    if (isVerlError(cause)) throw cause;
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new VerlError("VERL_INJECT_FAILED", `The constructor of ${whose} failed: ${reason}`, { ...blame, cause });
  }
}
