import { askForFields, hasOwnFields } from "./ask-for-fields.ts";
import type { ClassEntry, EntryMeta, EntryOf, Injectable } from "./entry.ts";
import { kindInfo, type Kind } from "./kinds.ts";
import { registries, type Entry } from "./registries.ts";
import type { RegistrationOptions, Registry } from "./registry.ts";

/** Kinds whose entries are classes. */
export type ClassKind = { [K in keyof EntryOf]: EntryOf[K] extends ClassEntry<unknown> ? K : never }[keyof EntryOf] &
  Kind;

/** What the run's container makes of an entry of a class kind. */
export type InstanceOf<K extends Kind> = Entry<K> extends ClassEntry<infer T> ? T : never;

/** The registering function of a kind: `registerFor("policy_loss")("mine", { description, compute })`. */
function registerFor<K extends Kind>(kind: K): (key: string, entry: Entry<K>, options?: RegistrationOptions) => void {
  const registry = registries[kind] as Registry<Entry<K>>;
  return (key, entry, options) => {
    // Without fields of its own it is registered as it is, so that whoever made it finds that very object.
    registry.register(key, hasOwnFields(entry) ? askForFields(kind, key, entry) : entry, options);
  };
}

/** Registers an advantage estimator. */
export const registerAdvEst = registerFor("adv_estimator");
/** Registers a policy loss. */
export const registerPolicyLoss = registerFor("policy_loss");
/** Registers a loss aggregation mode. */
export const registerLossAgg = registerFor("loss_agg");
/** Registers a KL estimator. */
export const registerKlPenalty = registerFor("kl_penalty");
/** Registers a score function for a `data_source`. */
export const registerRewardScore = registerFor("reward_score");
/** Registers a dispatch mode. */
export const registerDispatch = registerFor("dispatch");
/** Registers an execute mode. */
export const registerExecute = registerFor("execute");
/** Registers a transport of worker calls. */
export const registerTransport = registerFor("transport");
/** Registers a training engine. */
export const registerEngine = registerFor("engine");
/** Registers a rollout engine. */
export const registerRollout = registerFor("rollout");
/** Registers a tracker. */
export const registerTracker = registerFor("tracker");
/** Registers a dataset. */
export const registerDataset = registerFor("dataset");
/** Registers a sampler of rows. */
export const registerSampler = registerFor("sampler");
/** Registers a tensor backend. */
export const registerTensorBackend = registerFor("tensor_backend");

/** Facts about a class beside the class: all of `EntryMeta`, none of it compulsory. */
export type ClassMeta = Partial<EntryMeta> & RegistrationOptions;

/** The static `register` of an extension class. The decorator works with TypeScript's `experimentalDecorators` and with standard ones. */
export interface ClassRegistrar<K extends Kind> {
  (key: string, meta?: ClassMeta): <C extends Injectable<InstanceOf<K>>>(target: C, context?: unknown) => void;
}

/** Makes `@Base.register("key", { description })`, which registers the decorated class. */
export function classRegistrar<K extends Kind>(kind: K): ClassRegistrar<K> {
  const register = registerFor(kind);
  return (key, { source, override, ...meta } = {}) =>
    (target) => {
      const description = meta.description ?? `The ${kindInfo(kind).title} of class ${target.name}.`;
      // What else a kind's entry may have is optional, which a generic K does not tell.
      register(key, { ...meta, description, create: target } as unknown as Entry<K>, { source, override });
    };
}
