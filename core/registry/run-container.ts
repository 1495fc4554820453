import type { DependencyContainer, InjectionToken } from "tsyringe";
import { isVerlError, VerlError, type ErrorLocation } from "../errors/index.ts";
import { reasonOf } from "../errors/reason-of.ts";
import { checkInstance } from "./check-entry.ts";
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

/**
 * What an instance remembers between steps and wants back after a resume, as plain JSON: a reward manager's running mean, a
 * curriculum's position. An instance of any kind may have these two methods; the checkpoint then holds its state, one a rank where
 * there are several. So may an entry that is no class, such as a loss; it lives as long as its thread.
 */
export interface Stateful {
  saveState(): unknown;
  loadState(state: unknown): void;
}

/** Kinds whose state the trainer saves by itself: the models, and the loader with its sampler. */
const SAVED_APART: readonly Kind[] = ["engine", "rollout", "sampler"];

/** Constructs the classes of one run. Two runs in one process share no value and no instance. */
export interface RunContainer {
  /**
   * Resolves `key`, validates its options, and constructs its class, each `@inject(TOKEN)` parameter from the run's values.
   * @throws VERL_REGISTRY_KEY_UNKNOWN, VERL_OPTIONS_INVALID, VERL_INJECT_UNRESOLVED, VERL_INJECT_FAILED, VERL_ENTRY_META_INVALID
   */
  create<K extends Kind>(kind: K, key: string, options?: CreateOptions): InstanceOf<K>;
  /**
   * The same for a class that no registry holds: one that a config names by its file.
   * @param given the class, its name in messages and in the checkpoint, and where it comes from.
   */
  createClass<K extends Kind>(
    kind: K,
    given: { name: string; source: string; create: ClassEntry<InstanceOf<K>>["create"] },
    options?: Pick<CreateOptions, "values"> & { options?: Readonly<Record<string, unknown>> },
  ): InstanceOf<K>;
  /** Counts an entry that is no class among the run's instances, so that its state, if it has one, is saved and given back. */
  track(kind: Kind, key: string): void;
  /** Binds more values for what is created from now on, for example `{ [ROLLOUT]: engine }` once it exists. */
  bind(values: TokenValues): void;
  /** States of the instances that have one, by `kind/key`, a second of the same key as `kind/key#2`. */
  saveStates(): Record<string, unknown>;
  /** Gives states back, to the instances that exist and to those created later; of two states of one name the later counts. */
  loadStates(states: Readonly<Record<string, unknown>>): void;
}

/** A container for one run: `createRunContainer({ [CONFIG]: config, [LOGGER]: logger })`. */
export function createRunContainer(values: TokenValues = {}): RunContainer {
  const container = childContainer();
  bind(container, values);
  const stateful = new Map<string, Stateful>();
  let restored: Readonly<Record<string, unknown>> = {};
  const remember = (kind: Kind, key: string, instance: object): void => {
    if (SAVED_APART.includes(kind) || !isStateful(instance)) return;
    let name = `${kind}/${key}`;
    for (let count = 2; stateful.has(name); count++) name = `${kind}/${key}#${count}`;
    stateful.set(name, instance);
    if (Object.hasOwn(restored, name)) instance.loadState(restored[name]);
  };
  const make = (registration: Made, own: TokenValues): object => {
    const scope = childContainer(container);
    bind(scope, own);
    const instance = construct(scope, registration);
    remember(registration.kind, registration.key, instance);
    return instance;
  };
  return {
    create<K extends Kind>(kind: K, key: string, { options, locate, values: own = {} }: CreateOptions = {}) {
      const resolved = resolveOptions(kind, key, options, locate);
      const registration = registries[kind].find(key) as Registration<ClassEntry<object>>;
      const instance = make(registration, { ...own, [OPTIONS]: resolved });
      checkInstance(registration, instance);
      return instance as InstanceOf<K>;
    },
    createClass<K extends Kind>(
      kind: K,
      { name, source, create }: { name: string; source: string; create: ClassEntry<InstanceOf<K>>["create"] },
      {
        options = {},
        values: own = {},
      }: Pick<CreateOptions, "values"> & { options?: Readonly<Record<string, unknown>> } = {},
    ) {
      const entry = { description: name, create } as ClassEntry<object>;
      return make({ kind, key: name, entry, source }, { ...own, [OPTIONS]: options }) as InstanceOf<K>;
    },
    track(kind, key) {
      const { entry, key: name } = registries[kind].find(key);
      if (![...stateful.values()].includes(entry as never)) remember(kind, name, entry);
    },
    bind: (more) => bind(container, more),
    saveStates: () => Object.fromEntries([...stateful].map(([name, instance]) => [name, instance.saveState()])),
    loadStates(states) {
      restored = { ...restored, ...states };
      for (const [name, instance] of stateful) if (Object.hasOwn(states, name)) instance.loadState(states[name]);
    },
  };
}

const isStateful = (instance: object): instance is Stateful =>
  typeof (instance as Partial<Stateful>).saveState === "function" &&
  typeof (instance as Partial<Stateful>).loadState === "function";

function bind(container: DependencyContainer, values: TokenValues): void {
  for (const token of Object.getOwnPropertySymbols(values)) container.register(token, { useValue: values[token] });
}

type Made = Pick<Registration<ClassEntry<object>>, "kind" | "key" | "entry" | "source">;

function construct(container: DependencyContainer, registration: Made): object {
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
    const reason = reasonOf(cause);
    throw new VerlError("VERL_INJECT_FAILED", `The constructor of ${whose} failed: ${reason}`, { ...blame, cause });
  }
}
