import { existsSync, realpathSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { packageFolder, pluginManifest } from "../registry/manifest.ts";
import { defaultsList, packageOf, type DefaultsItem } from "./defaults-list.ts";
import type { Problem } from "./problem.ts";
import { readYaml } from "./read-yaml.ts";
import {
  DEFAULT,
  getAt,
  locationOf,
  mapOf,
  merge,
  removeAt,
  setAt,
  toValue,
  type MapNode,
  type Node,
  type Origin,
} from "./tree.ts";

/** Configs that a `defaults:` list may name without a file: their values are the schema's own defaults. */
const BUILT_IN = new Set(
  (
    "ppo_trainer sft_trainer ppo_megatron_trainer sft_trainer_engine legacy_data dp_actor dp_ref dp_critic dp_reward_loop dp_reward_model " +
    "megatron_actor megatron_ref megatron_critic hf_model rollout rollout_correction reward_manager fsdp megatron profiler"
  ).split(" "),
);

export const isBuiltIn = (name: string): boolean => BUILT_IN.has(name);

/** Reads config files and what they build upon (`extends`, `defaults`), and merges them; later wins. */
export class Composer {
  readonly problems: Problem[] = [];
  readonly sources = new Map<string, string>();
  /** Config groups that a `defaults:` list named, with the option chosen on the command line for them. */
  readonly groups = new Set<string>();

  /** @param choices Options for config groups, from overrides such as `optim=fast`. */
  constructor(
    private readonly directory: string,
    private readonly choices: ReadonlyMap<string, string> = new Map(),
  ) {}

  /** The tree of one config file and all that it builds upon. */
  load(file: string): MapNode {
    const path = resolve(this.directory, file);
    return this.file(path, dirname(path), [], []);
  }

  private file(path: string, configRoot: string, parentPackage: readonly string[], chain: readonly string[]): MapNode {
    const shown = this.show(path);
    const identity = existsSync(path) ? realpathSync(path) : path;
    if (chain.includes(identity)) {
      const names = [...chain.slice(chain.indexOf(identity)), identity].map((link) => this.show(link));
      this.problems.push({
        code: "VERL_CONFIG_CYCLE",
        message: `Config files build upon each other in a circle: ${names.join(" → ")}.`,
        location: { file: this.show(chain.at(-1)!) },
      });
      return mapOf(DEFAULT);
    }
    const { root, text, problems } = readYaml(path, shown);
    this.sources.set(shown, text);
    this.problems.push(...problems);

    const bases = this.extended(root, path, configRoot, [...chain, identity]);
    const own = removeAt(removeAt(root, ["defaults"]), ["extends"]) as MapNode;
    const packaged = this.under(packageOf(text, parentPackage), own);
    const parts = [mapOf(DEFAULT) as Node, ...bases];
    const { items, problems: listProblems } = defaultsList(root);
    this.problems.push(...listProblems);
    let selfSeen = false;
    for (const item of items) {
      if (item.self) {
        parts.push(packaged);
        selfSeen = true;
      } else {
        parts.push(...this.group(item, path, configRoot, parentPackage, [...chain, identity]));
      }
    }
    if (!selfSeen) parts.push(packaged);
    return withPluginsOf([...bases, own], parts.reduce(merge) as MapNode);
  }

  /** Files named by `extends`, in order. */
  private extended(root: MapNode, path: string, configRoot: string, chain: readonly string[]): MapNode[] {
    const node = getAt(root, ["extends"]);
    if (node === undefined) return [];
    const names = node.kind === "list" ? node.items : [node];
    return names.flatMap((item) => {
      const name = item.kind === "scalar" ? item.value : undefined;
      if (typeof name !== "string") {
        this.report(item.origin, "extends", "`extends` takes the path of a config file, or a list of paths.");
        return [];
      }
      if (BUILT_IN.has(name)) return [];
      const target = this.extendsTarget(name, path);
      if (target !== undefined) return [this.file(target, configRoot, [], chain)];
      this.report(item.origin, "extends", `\`extends: ${name}\` names no file.`, hintFor(name, dirname(path)));
      return [];
    });
  }

  private extendsTarget(name: string, from: string): string | undefined {
    const near = isAbsolute(name) ? name : resolve(dirname(from), name);
    if (existsSync(near) || name.startsWith(".") || isAbsolute(name)) return existsSync(near) ? near : undefined;
    if (!/\.ya?ml$/.test(name)) return presetOf(name, dirname(from));
    try {
      return createRequire(from).resolve(name);
    } catch {
      return undefined;
    }
  }

  /** The files that one item of a `defaults:` list names. */
  private group(
    item: DefaultsItem,
    path: string,
    configRoot: string,
    parentPackage: readonly string[],
    chain: readonly string[],
  ): MapNode[] {
    if (item.group !== undefined) this.groups.add(item.group);
    const chosen = item.group === undefined ? undefined : this.choices.get(item.group);
    const options = chosen === undefined ? item.options : chosen === "null" ? [] : [chosen];
    return options.flatMap((option) => {
      const directory = item.absolute ? configRoot : dirname(path);
      const target = join(directory, item.group ?? "", /\.ya?ml$/.test(option) ? option : `${option}.yaml`);
      const outside = relative(configRoot, target).startsWith(`..${sep}`);
      if (!outside && existsSync(target)) return [this.file(target, configRoot, item.package(parentPackage), chain)];
      if (item.optional || isBuiltIn(option)) return [];
      const name = item.group === undefined ? option : `${item.group}: ${option}`;
      const reason = outside ? `lies outside of the config folder ${this.show(configRoot)}` : "does not exist";
      this.report(item.origin, "defaults", `\`defaults\` names \`${name}\`, but ${this.show(target)} ${reason}.`);
      return [];
    });
  }

  private under(prefix: readonly string[], own: MapNode): MapNode {
    return prefix.length === 0 ? own : (setAt(mapOf(own.origin), prefix, own, own.origin) as MapNode);
  }

  private report(origin: Origin, key: string, message: string, hint?: string): void {
    this.problems.push({ code: "VERL_CONFIG_FILE", message, hint, location: locationOf(origin, [key]) });
  }

  /** A path as people read it: relative to where the command was given, when it lies below. */
  private show(path: string): string {
    const short = relative(this.directory, path);
    return short === "" || short.startsWith("..") || isAbsolute(short) ? path : short;
  }
}

/** The preset of an installed package, as seen from a folder. */
function presetOf(name: string, from: string): string | undefined {
  const folder = packageFolder(name, from);
  const preset = folder === undefined ? undefined : pluginManifest(folder)?.preset;
  return folder === undefined || preset === undefined ? undefined : join(folder, preset);
}

function hintFor(name: string, from: string): string {
  const isPackage = /^(@[\w.-]+\/)?[\w.-]+$/.test(name) && !/\.ya?ml$/.test(name);
  if (!isPackage) return "Write a path relative to this file, or package/path/to/config.yaml of an installed package.";
  return packageFolder(name, from) === undefined
    ? `Run \`npm install ${name}\`, or write a path relative to this file: "./${name}.yaml".`
    : `The package ${name} has no preset; if it is a plugin, list it under \`plugins:\`.`;
}

/** A list replaces the one that it builds upon, but plugins add up: what a preset names needs its plugins, whichever are added to it. */
function withPluginsOf(files: readonly MapNode[], tree: MapNode): MapNode {
  const lists = files.flatMap((file) => {
    const list = getAt(file, ["plugins"]);
    return list?.kind === "list" ? [list] : [];
  });
  const last = lists.at(-1);
  if (last === undefined || lists.length === 1) return tree;
  const items = new Map(lists.flatMap(({ items }) => items.map((item) => [identityOf(item), item] as const)));
  return setAt(tree, ["plugins"], { ...last, items: [...items.values()] }, last.origin) as MapNode;
}

/** Equal paths in two folders are two files. */
const identityOf = (item: Node): string =>
  JSON.stringify([toValue(item), item.origin.from === "file" ? dirname(item.origin.file) : ""]);
