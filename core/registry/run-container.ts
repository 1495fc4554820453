import type { DependencyContainer, InjectionToken } from "tsyringe";
import { isVerlError, VerlError } from "../errors/index.ts";
import { childContainer, makeInjectable, parametersOf } from "./container.ts";
import type { ClassEntry, Injectable } from "./entry.ts";
import { kindInfo, type Kind } from "./kinds.ts";
import { resolveOptions, type LocateOption } from "./options.ts";
import type { InstanceOf } from "./register.ts";
import { registries } from "./registries.ts";
import type { Registration } from "./store.ts";
import { OPTIONS, tokenName, type TokenValues } from "./tokens.ts";
import type { ErrorLocation } from "../errors/index.ts";

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

function construct(
  container: DependencyContainer,
  { kind, key, entry, source }: Registration<ClassEntry<object>>,
): object {
  const blame = { location: { plugin: source }, details: { kind, key } };
  prepare(entry.create, []);
  try {
    return container.resolve(entry.create as new () => object);
  } catch (cause) {
    if (isVerlError(cause)) throw cause;
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new VerlError(
      "VERL_INJECT_FAILED",
      `The constructor of the ${kindInfo(kind).title} "${key}" of ${source} failed: ${reason}`,
      {
        ...blame,
        cause,
      },
    );
  }

  /** Checks each parameter before tsyringe meets it, whose own messages name neither the plugin nor what there is. */
  function prepare(target: Injectable<object>, path: readonly Injectable<object>[]): void {
    const chain = [...path, target];
    const fail = (message: string, hint: string): never => {
      throw new VerlError("VERL_INJECT_UNRESOLVED", message, { ...blame, hint });
    };
    parametersOf(target).forEach((token, index) => {
      const where = `Parameter ${index + 1} of the constructor of ${target.name} (${kindInfo(kind).title} "${key}" of ${source})`;
      if (token === undefined)
        return fail(`${where} has no \`@inject(TOKEN)\`.`, "Mark every constructor parameter with `@inject(TOKEN)`.");
      if (container.isRegistered(token as InjectionToken, true)) return undefined;
      if (typeof token === "symbol") {
        return fail(
          `${where} asks for ${tokenName(token)}, which this run does not have.`,
          'Tokens that every run has are exported by "verl": CONFIG, TOKENIZER, LOGGER, RNG, METRICS, ABORT_SIGNAL, OPTIONS.',
        );
      }
      if (chain.includes(token))
        return fail(
          `${where} asks for ${tokenName(token)}, which asks for ${target.name} in turn.`,
          "Break the circle: let one of the two receive the other later.",
        );
      return prepare(token, chain);
    });
    makeInjectable(target);
  }
}
