export { inject } from "./container.ts";
export { definePlugin, isPlugin, provide, type Plugin, type PluginDefinition, type Provided } from "./define-plugin.ts";
export type { ClassEntry, EntryMeta, EntryOf, Injectable, OptionFault } from "./entry.ts";
export { OPTIONAL_FIELDS } from "./field-suppliers.ts";
export { importSource } from "./import-source.ts";
export { allInNameOf, asFaultOf, inNameOf } from "./in-name-of.ts";
export { KIND_NAMES, KINDS, kindInfo, type Kind, type KindInfo } from "./kinds.ts";
export {
  BUILT_IN_PLUGIN,
  loadedPlugins,
  loadPlugin,
  loadPlugins,
  registerPlugin,
  type LoadPluginOptions,
} from "./load-plugin.ts";
export { createLogger, type Logger, type LoggerOptions } from "./logger.ts";
export {
  installedPlugins,
  pluginManifest,
  type ManifestTesting,
  type PluginManifest,
  type ProvidedKeys,
} from "./manifest.ts";
export type { MetricsSink } from "./metrics-sink.ts";
export { nearest } from "./nearest.ts";
export { resolveOptions, type LocateOption, type OptionProblem } from "./options.ts";
export {
  classRegistrar,
  registerAdvEst,
  registerDataset,
  registerDispatch,
  registerEngine,
  registerExecute,
  registerKlPenalty,
  registerLossAgg,
  registerPolicyLoss,
  registerRewardScore,
  registerRollout,
  registerSampler,
  registerTensorBackend,
  registerTracker,
  registerTransport,
  type ClassKind,
  type ClassMeta,
  type ClassRegistrar,
  type InstanceOf,
} from "./register.ts";
export { freezeRegistries, registries, type Entry, type Registries } from "./registries.ts";
export type { Registry, RegistrationOptions } from "./registry.ts";
export { checkRequires, type FieldSuppliers } from "./requires.ts";
export { createRunContainer, type CreateOptions, type RunContainer, type Stateful } from "./run-container.ts";
export type { LoadedPlugin, Registration } from "./store.ts";
export {
  ABORT_SIGNAL,
  CONFIG,
  LOGGER,
  METRICS,
  OPTIONS,
  RNG,
  ROLE_CONFIG,
  ROLLOUT,
  TOKENIZER,
  type Token,
  type TokenValues,
} from "./tokens.ts";
export { VERSION } from "./version.ts";
export type { KeysBeside } from "./unknown-key.ts";
