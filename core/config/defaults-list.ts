import type { Problem } from "./problem.ts";
import { getAt, locationOf, type MapNode, type Node, type Origin } from "./tree.ts";

/** One item of Hydra's `defaults:` list. */
export interface DefaultsItem {
  /** `_self_`: the file's own values stand here in the order. */
  readonly self: boolean;
  /** Folder of the options; absent for a config named directly. */
  readonly group?: string;
  /** Names of files, without `.yaml`; none for a group that is turned off by null. */
  readonly options: readonly string[];
  readonly optional: boolean;
  /** `/group`: from the folder of the primary config, not of this file. */
  readonly absolute: boolean;
  /** Where the values go, given where this file's values go. */
  package(parent: readonly string[]): readonly string[];
  readonly origin: Origin;
}

const SHAPE = "Its items are `_self_`, a config's name, or one `group: option`.";

/** Reads the `defaults:` list of a file; empty when it has none. */
export function defaultsList(root: MapNode): { items: DefaultsItem[]; problems: Problem[] } {
  const node = getAt(root, ["defaults"]);
  if (node === undefined) return { items: [], problems: [] };
  const problems: Problem[] = [];
  const reject = ({ origin }: Node, message: string): undefined => {
    problems.push({ code: "VERL_CONFIG_FILE", message, hint: SHAPE, location: locationOf(origin, ["defaults"]) });
  };
  if (node.kind !== "list") {
    reject(node, "`defaults` is not a list.");
    return { items: [], problems };
  }
  const items = node.items.map((item) => readItem(item) ?? reject(item, "This item of `defaults` cannot be read."));
  return { items: items.filter((item) => item !== undefined), problems };
}

function readItem(node: Node): DefaultsItem | undefined {
  if (node.kind === "scalar" && typeof node.value === "string") {
    if (node.value === "_self_") return { ...item("", [], node.origin), self: true };
    return item(node.value, undefined, node.origin);
  }
  const [only] = node.kind === "map" && node.entries.size === 1 ? node.entries : [];
  if (only === undefined) return undefined;
  const [key, { node: value }] = only;
  const options = (value.kind === "list" ? value.items : [value]).map((option) =>
    option.kind === "scalar" ? option.value : undefined,
  );
  if (options.some((option) => option === undefined || typeof option === "boolean")) return undefined;
  const named = options.filter((option) => option !== null).map(String);
  return item(key, named, node.origin);
}

/** @param options Undefined for a config named directly: then `text` is its path. */
function item(text: string, options: readonly string[] | undefined, origin: Origin): DefaultsItem {
  const words = text.trim().split(/\s+/);
  const target = words.pop() ?? "";
  const [name = "", packaged] = target.split("@");
  const absolute = name.startsWith("/");
  const path = name.replace(/^\//, "");
  const folder = options === undefined ? path.split("/").slice(0, -1).join("/") : path;
  const group = folder === "" ? undefined : folder;
  const into = (packaged ?? group?.replaceAll("/", ".") ?? "").split(".").filter((part) => part !== "");
  return {
    self: false,
    group,
    options: options ?? [path.split("/").at(-1)!],
    optional: words.includes("optional"),
    absolute,
    package: (parent) =>
      into[0] === "_global_" ? into.slice(1) : into[0] === "_here_" ? parent : [...parent, ...into],
    origin,
  };
}

/** Where a file's values go: its own `# @package` line, else what its `defaults:` item says. */
export function packageOf(text: string, fallback: readonly string[]): readonly string[] {
  const declared = /^\s*#\s*@package\s+(\S+)/.exec(text)?.[1];
  if (declared === undefined) return fallback;
  return declared === "_global_" ? [] : declared.split(".");
}
