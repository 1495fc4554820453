import { VerlError, type ErrorLocation } from "../errors/index.ts";
import { howToGet } from "./ecosystem.ts";
import { kindInfo, KIND_NAMES, type Kind } from "./kinds.ts";
import { nearest, quotedAlternatives } from "./nearest.ts";
import { kindStore } from "./store.ts";

const LISTED = 20;

/** Names that stand for entries beside the keys, where the key may be one of them. */
export interface KeysBeside {
  readonly keys: readonly string[];
  /** Where they come from: a file. */
  readonly source: string;
}

/**
 * What to do about a key that nothing goes by: the kind that has it or else near keys, the package that brings it, and what there is.
 */
export function unknownKey(kind: Kind, key: string, location?: ErrorLocation, beside?: KeysBeside): VerlError {
  const { title, selectedBy } = kindInfo(kind);
  const suggestion = otherKind(kind, key) ?? near(kind, key, beside?.keys);
  return new VerlError("VERL_REGISTRY_KEY_UNKNOWN", `No ${title} is registered as "${key}".`, {
    hint: [suggestion?.text, howToGet(kind, key, process.cwd()), available(kind, beside)].filter(Boolean).join("\n"),
    location: { path: selectedBy, ...location },
    details: { kind, key, nearest: suggestion?.names ?? [], available: keysOf(kind) },
  });
}

interface Suggestion {
  text: string;
  /** Keys of this kind that may have been meant. */
  names: string[];
}

const keysOf = (kind: Kind): string[] => [...kindStore(kind).byKey.keys()].sort();

function otherKind(kind: Kind, key: string): Suggestion | undefined {
  for (const other of KIND_NAMES) {
    const { byKey, keyOfAlias } = kindStore(other);
    if (other === kind || !(byKey.has(key) || keyOfAlias.has(key))) continue;
    const { title, selectedBy } = kindInfo(other);
    const question = selectedBy === undefined ? "" : ` Did you mean \`${selectedBy}: ${key}\`?`;
    return { text: `"${key}" is ${article(title)}, not ${article(kindInfo(kind).title)}.${question}`, names: [] };
  }
  return undefined;
}

function near(kind: Kind, key: string, beside: readonly string[] = []): Suggestion | undefined {
  const { byKey, keyOfAlias } = kindStore(kind);
  const names = nearest(key, [...byKey.keys(), ...keyOfAlias.keys(), ...beside]);
  return names.length === 0 ? undefined : { text: `Did you mean ${quotedAlternatives(names)}?`, names };
}

/** `Available: gae, grpo (verl@0.1.0); dapo (verl-plugin-dapo@1.2.0).` */
function available(kind: Kind, beside?: KeysBeside): string {
  const keys = keysOf(kind);
  if (keys.length === 0)
    return `No ${kindInfo(kind).title} is registered at all; is the plugin that brings it listed under \`plugins:\`?`;
  const bySource = new Map<string, string[]>();
  for (const key of keys.slice(0, LISTED)) {
    const { source } = kindStore(kind).byKey.get(key)!;
    bySource.set(source, [...(bySource.get(source) ?? []), key]);
  }
  if (beside !== undefined && beside.keys.length > 0) bySource.set(beside.source, [...beside.keys]);
  const groups = [...bySource].map(([source, own]) => `${own.join(", ")} (${source})`).join("; ");
  const more = keys.length > LISTED ? `; and ${keys.length - LISTED} more, run \`verl list ${kind}\`` : "";
  return `Available: ${groups}${more}.`;
}

/** "an advantage estimator", "a policy loss". */
const article = (title: string): string => `${/^[aeiou]/i.test(title) ? "an" : "a"} ${title}`;
