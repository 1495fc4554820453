import type { EntryMeta } from "./entry.ts";
import type { Kind } from "./kinds.ts";

/** One registered entry and where it came from. */
export interface Registration<E extends EntryMeta = EntryMeta> {
  readonly kind: Kind;
  readonly key: string;
  readonly entry: E;
  /** `package@version` of the plugin, or what `register` was told. */
  readonly source: string;
  /** Source of the entry that this one replaced with `override: true`. */
  readonly overrides?: string;
}

/** A plugin that was registered in this process. */
export interface LoadedPlugin {
  readonly name: string;
  /** Absent for a module that registers by decorators and exports no plugin. */
  readonly version?: string;
  /** The module that it was loaded from, as another process finds it; absent for what the program registered itself. */
  readonly url?: string;
  readonly provides: readonly { readonly kind: Kind; readonly key: string }[];
}

interface KindStore {
  readonly byKey: Map<string, Registration>;
  readonly keyOfAlias: Map<string, string>;
}

interface Store {
  readonly kinds: Map<string, KindStore>;
  /** Names of the runs under way; registries are frozen while there is one. */
  readonly runs: Map<symbol, string>;
  /** Plugins by `name@version`, and decorator modules by specifier. */
  readonly plugins: Map<string, LoadedPlugin>;
  /** Source of registrations that name none: the module that is being loaded. */
  source: string | undefined;
}

const STORE = Symbol.for("verl.registry.1");

/** The one store of the process: every copy of this package reads and writes the same maps. */
export function store(): Store {
  const host = globalThis as { [STORE]?: Store };
  return (host[STORE] ??= { kinds: new Map(), runs: new Map(), plugins: new Map(), source: undefined });
}

export function kindStore(kind: Kind): KindStore {
  const { kinds } = store();
  let found = kinds.get(kind);
  if (found === undefined) kinds.set(kind, (found = { byKey: new Map(), keyOfAlias: new Map() }));
  return found;
}
