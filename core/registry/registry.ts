import { VerlError, type ErrorLocation } from "../errors/index.ts";
import { checkEntry, checkSchema } from "./check-entry.ts";
import type { EntryMeta } from "./entry.ts";
import { isAlias, isKey, KEY_RULE } from "./key.ts";
import { kindInfo, type Kind } from "./kinds.ts";
import { RENAMED } from "./known-keys.ts";
import { createLogger } from "./logger.ts";
import { kindStore, store, type Registration } from "./store.ts";
import { unknownKey, type KeysBeside } from "./unknown-key.ts";

export interface RegistrationOptions {
  /** Who registers: `package@version`. Default: the plugin being loaded, else `this program`. */
  source?: string;
  /** Take the key although another entry holds it. Logged. */
  override?: boolean;
}

const log = createLogger();

/** Whatever a kind is, its entries live by these rules. */
export class Registry<E extends EntryMeta = EntryMeta> {
  constructor(readonly kind: Kind) {}

  /**
   * Puts `entry` under `key`. The same entry again does nothing.
   * @throws VERL_REGISTRY_KEY_INVALID, VERL_REGISTRY_KEY_TAKEN, VERL_REGISTRY_FROZEN, VERL_ENTRY_META_INVALID, VERL_ENTRY_SCHEMA_INVALID
   */
  register(key: string, entry: E, options: RegistrationOptions = {}): void {
    const source = options.source ?? store().source ?? "this program";
    checkEntry(this.kind, key, entry, source);
    this.checkKey(key, entry, source);
    if (this.holds(key, entry)) return;
    this.checkFree(key, entry, { ...options, source });
    checkSchema(this.kind, key, entry, source);
    this.put(key, entry, source);
  }

  /** The entry under `key` or one of its aliases. @throws VERL_REGISTRY_KEY_UNKNOWN with the nearest keys. */
  resolve(key: string, location?: ErrorLocation): E {
    return this.find(key, location).entry;
  }

  /** As `resolve`, with the canonical key and the source. @param beside names that were looked through already. */
  find(key: string, location?: ErrorLocation, beside?: KeysBeside): Registration<E> {
    const found = this.lookup(key) ?? this.renamed(key);
    if (found === undefined) throw unknownKey(this.kind, key, location, beside);
    return found;
  }

  get(key: string): E | undefined {
    return this.lookup(key)?.entry;
  }

  has(key: string): boolean {
    return this.lookup(key) !== undefined;
  }

  /** Canonical keys, sorted. */
  keys(): string[] {
    return [...kindStore(this.kind).byKey.keys()].sort();
  }

  /** `[key, entry]`, sorted by key. */
  entries(): [string, E][] {
    return this.registrations().map(({ key, entry }) => [key, entry]);
  }

  registrations(): Registration<E>[] {
    return this.keys().map((key) => kindStore(this.kind).byKey.get(key) as Registration<E>);
  }

  /** True when this very entry is there already. A class counts as itself, however often it is wrapped. */
  holds(key: string, entry: EntryMeta): boolean {
    const held = kindStore(this.kind).byKey.get(key)?.entry;
    return (
      held !== undefined && (held === entry || ("create" in held && "create" in entry && held.create === entry.create))
    );
  }

  /** @throws VERL_REGISTRY_KEY_INVALID for the key or one of the aliases. */
  checkKey(key: string, entry: EntryMeta, source: string): void {
    const wrong = isKey(key) ? entry.aliases?.find((alias) => !isAlias(alias)) : key;
    if (wrong === undefined) return;
    throw new VerlError(
      "VERL_REGISTRY_KEY_INVALID",
      `${source} registers a ${this.title} under ${JSON.stringify(wrong)}, which is not a key.`,
      {
        hint: KEY_RULE,
        location: { plugin: source },
      },
    );
  }

  /** @throws VERL_REGISTRY_FROZEN, VERL_REGISTRY_KEY_TAKEN */
  checkFree(key: string, entry: EntryMeta, options: RegistrationOptions & { source: string }): void {
    const [run] = store().runs.values();
    if (run !== undefined) {
      throw new VerlError(
        "VERL_REGISTRY_FROZEN",
        `${options.source} registers the ${this.title} "${key}" while ${run} is under way; registries are frozen then.`,
        {
          hint: "List the package or file under `plugins:` in the config, or register it before the trainer is started.",
          location: { plugin: options.source },
        },
      );
    }
    const replaced = options.override ? this.lookup(key) : undefined;
    for (const name of [key, ...(entry.aliases ?? [])]) {
      const holder = this.lookup(name);
      if (holder === undefined || (holder === replaced && (name === key || holder.key === key))) continue;
      const taken = holder.key === name ? `"${name}"` : `"${name}" (an alias of "${holder.key}")`;
      throw new VerlError(
        "VERL_REGISTRY_KEY_TAKEN",
        `${options.source} registers the ${this.title} ${taken}, which ${holder.source} has registered already.`,
        {
          hint: `Choose another key, such as "${scopeOf(options.source)}:${name}", or pass \`override: true\` to replace it.`,
          location: { plugin: options.source },
          details: { kind: this.kind, key: name, sources: [holder.source, options.source] },
        },
      );
    }
  }

  /** Stores what has passed the checks. */
  put(key: string, entry: E, source: string): void {
    const { byKey, keyOfAlias } = kindStore(this.kind);
    const replaced = this.lookup(key);
    if (replaced !== undefined) {
      for (const [alias, target] of keyOfAlias) if (target === key) keyOfAlias.delete(alias);
      keyOfAlias.delete(key);
      log.warn(`The ${this.title} "${key}" of ${replaced.source} is overridden by ${source}.`);
    }
    byKey.set(key, { kind: this.kind, key, entry, source, ...(replaced && { overrides: replaced.source }) });
    for (const alias of entry.aliases ?? []) keyOfAlias.set(alias, key);
  }

  private get title(): string {
    return kindInfo(this.kind).title;
  }

  private renamed(key: string): Registration<E> | undefined {
    const now = RENAMED[this.kind]?.[key];
    const found = now === undefined ? undefined : this.lookup(now);
    if (found !== undefined) log.warnOnce(`${this.kind}/${key}`, `The ${this.title} "${key}" is called "${now}" now.`);
    return found;
  }

  private lookup(key: string): Registration<E> | undefined {
    const { byKey, keyOfAlias } = kindStore(this.kind);
    return byKey.get(keyOfAlias.get(key) ?? key) as Registration<E> | undefined;
  }
}

/** A scope for keys of a package: `@acme/verl-plugin-x@1.0.0` → `acme`, `verl-plugin-dapo` → `dapo`. */
function scopeOf(source: string): string {
  const name = source
    .replace(/(.)@.*$/, "$1")
    .replace(/^@/, "")
    .replace(/^verl-plugin-/, "");
  return /^[A-Za-z0-9][A-Za-z0-9_.-]*/.exec(name)?.[0] ?? "my";
}
