import { askForFields } from "./ask-for-fields.ts";
import type { Kind } from "./kinds.ts";
import type { Entry } from "./registries.ts";

/** One entry that a plugin brings: what `provide` makes. */
export interface Provided<K extends Kind = Kind> {
  readonly kind: K;
  readonly key: string;
  readonly entry: Entry<K>;
  readonly override?: boolean;
}

export interface PluginDefinition {
  /** The package's name on npm. */
  readonly name: string;
  readonly version: string;
  /** npm range of the versions of `verl` that it works with, for example `^0.1`. */
  readonly verl: string;
  readonly provides: readonly Provided[];
}

const BRAND = Symbol.for("verl.plugin");

/** What a plugin package exports by default. */
export interface Plugin extends PluginDefinition {
  readonly [BRAND]: true;
}

/**
 * Names an entry of a plugin. Functions of an estimator or a loss look for the batch fields that it requires before they run.
 * @param options.override Replace an entry that another plugin registered under this key; logged.
 */
export function provide<K extends Kind>(
  kind: K,
  key: string,
  entry: Entry<K>,
  options: { override?: boolean } = {},
): Provided<K> {
  return { kind, key, entry: askForFields(kind, key, entry), ...options };
}

/**
 * The default export of a plugin package: data only. Nothing is registered until the plugin is loaded.
 *
 *     export default definePlugin({ name: "verl-plugin-x", version: "1.0.0", verl: "^0.1", provides: [provide("adv_estimator", "x", x)] });
 */
export function definePlugin(definition: PluginDefinition): Plugin {
  return Object.freeze({ ...definition, [BRAND]: true as const });
}

/** True for plugins of any copy of this package. */
export function isPlugin(value: unknown): value is Plugin {
  return typeof value === "object" && value !== null && BRAND in value;
}
