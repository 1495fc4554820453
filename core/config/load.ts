import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import type { ErrorLocation } from "../errors/index.ts";
import { applyOverrides, leavesMovedKey, parseOverrides, type OverrideRules } from "./apply-overrides.ts";
import { checkBatch, checkSftBatch } from "./check-batch.ts";
import { checkTokenBounds } from "./check-token-bounds.ts";
import { checkSftValues, checkValues } from "./check-values.ts";
import { Composer, isBuiltIn } from "./compose.ts";
import { interpolate } from "./interpolate.ts";
import { knownValues } from "./known-values.ts";
import { byImportance, type Note } from "./note.ts";
import type { Override } from "./override-grammar.ts";
import { otherCommand } from "./other-command.ts";
import { problemsError, type Problem, type Sources } from "./problem.ts";
import { defaultsTree } from "./defaults-tree.ts";
import { SCHEMAS, type ConfigOf, type PpoConfig, type SchemaName, type SftConfig } from "./schema/index.ts";
import { emptyOf, isOpenAt, schemaAt } from "./schema-lookup.ts";
import {
  getAt,
  locationOf,
  mapOf,
  merge,
  parsePath,
  removeAt,
  setAt,
  showPath,
  type MapNode,
  type Node,
  type Path,
} from "./tree.ts";
import { validate } from "./validate.ts";
import { movedPaths, movedTo, reasonWithoutEffect } from "./verl-keys.ts";

export interface LoadOptions<S extends SchemaName = SchemaName> {
  readonly schema: S;
  /** `-c`: path of a YAML file. */
  readonly file?: string;
  /** `--config-path`: folder of config files, with `configName`. */
  readonly configPath?: string;
  /** `--config-name`: name of a file in that folder, with or without `.yaml`. */
  readonly configName?: string;
  /** Hydra overrides, applied in order. */
  readonly overrides?: readonly string[];
  /** Folder that relative paths start from. Default: the working directory. */
  readonly directory?: string;
  /** For `${oc.env:NAME}`. Default: the process's. */
  readonly env?: Readonly<Record<string, string | undefined>>;
}

/** A valid config and where all of it comes from. */
export interface LoadedConfig<S extends SchemaName = SchemaName> {
  readonly schema: S;
  /** The whole tree, defaults and interpolations in. */
  readonly config: ConfigOf<S>;
  /** The same with origins. */
  readonly tree: MapNode;
  /** Keys without effect here, keys that moved, and the like. */
  readonly notes: readonly Note[];
  readonly sources: Sources;
  /** Folder that relative paths of the command line and of the config start from. */
  readonly directory: string;
  /** Where the value at a dotted path (`trainer.logger.0`) was written; only `path` is set for a default. */
  readonly originOf: (path: string) => ErrorLocation;
}

/**
 * Reads, composes, overrides, interpolates and validates a config: schema defaults ← files (`defaults:`, `extends`) ← overrides.
 * Nothing but config files is read. What plugins have to say is {@link loadRunConfig}'s.
 * @throws One VerlError with every problem in `details.problems`: that problem's own code, or VERL_CONFIG_INVALID for several.
 */
export function loadConfig<S extends SchemaName>(options: LoadOptions<S>): LoadedConfig<S> {
  const { loaded, problems } = readConfig(options);
  if (problems.length > 0) throw problemsError(problems, loaded.sources);
  return loaded;
}

/** The same, with the problems beside the config; where there are any, parts of the config may be undefined. */
export function readConfig<S extends SchemaName>(
  options: LoadOptions<S>,
): { loaded: LoadedConfig<S>; problems: Problem[] } {
  const { schema: name, directory = process.cwd(), env = process.env } = options;
  const schema = SCHEMAS[name];
  const problems: Problem[] = [];
  const notes: Note[] = [];

  const parsed = parseOverrides(options.overrides ?? []);
  problems.push(...parsed.problems);
  const { tree: written, composer, rest } = compose(options, directory, parsed.overrides);
  problems.push(...composer.problems);
  const foreign = otherCommand(written, name);
  if (foreign !== undefined) problems.push(foreign);
  const placed = placeMoved(written, name, notes);

  const applied = applyOverrides(merge(defaultsTree(schema), placed) as MapNode, rest, rulesOf(name));
  problems.push(...applied.problems);
  for (const { from, to, origin } of applied.moved) notes.push(movedNote(from, to, locationOf(origin, from)));

  const interpolated = interpolate(applied.root, { env, isAbsent: (path) => reasonWithoutEffect(path) !== undefined });
  const effective = ({ location }: Problem) => reasonWithoutEffect(parsePath(location.path ?? "")) === undefined;
  problems.push(...interpolated.problems.filter(effective));

  const validated = validate(name, interpolated.root);
  // A value that could not be interpolated reads as null; one report of it is enough.
  const reported = new Set(problems.filter((problem) => problem !== foreign).map(({ location }) => location.path));
  problems.push(...validated.problems.filter(({ location }) => !reported.has(location.path)));
  notes.push(...validated.notes);

  const originOf = (path: string): ErrorLocation => {
    const keys = parsePath(path);
    const node = getAt(interpolated.root, keys);
    return node === undefined ? { path } : locationOf(node.origin, keys);
  };
  const config = validated.value as ConfigOf<S>;
  const known = knownValues(config, problems);
  const sizes = foreign
    ? []
    : name === "ppo"
      ? [...checkBatch(known, originOf), ...checkTokenBounds(known, originOf)]
      : checkSftBatch(known, originOf);
  if (problems.length === 0) problems.push(...checkValuesOf(name, config, originOf));
  problems.push(...sizes);
  const { sources } = composer;
  return {
    loaded: { schema: name, config, tree: interpolated.root, notes: byImportance(notes), sources, directory, originOf },
    problems,
  };
}

const checkValuesOf = (
  name: SchemaName,
  config: PpoConfig | SftConfig,
  originOf: (path: string) => ErrorLocation,
): Problem[] =>
  name === "ppo" ? checkValues(config as PpoConfig, originOf) : checkSftValues(config as SftConfig, originOf);

/** The files' tree. Overrides that choose an option of a config group (`optim=fast`) are used up by it. */
function compose(
  options: LoadOptions,
  directory: string,
  overrides: readonly Override[],
): { tree: MapNode; composer: Composer; rest: readonly Override[] } {
  const choices = new Map(
    overrides.flatMap(({ op, key, value }): [string, string][] =>
      op === "set" && (typeof value === "string" || value === null) ? [[key, String(value)]] : [],
    ),
  );
  const composer = new Composer(directory, choices);
  const file = primaryFile(options, directory);
  const tree = file === undefined ? mapOf({ from: "default" }) : composer.load(file);
  return { tree, composer, rest: overrides.filter(({ op, key }) => !(op === "set" && composer.groups.has(key))) };
}

/** `-c`, or `--config-path` and `--config-name`; a name of verl's own configs stands for the defaults alone. */
function primaryFile({ file, configPath, configName }: LoadOptions, directory: string): string | undefined {
  if (file !== undefined) return file;
  if (configName === undefined && configPath === undefined) return undefined;
  const name = (configName ?? "ppo_trainer").replace(/\.ya?ml$/, "");
  const base = join(configPath ?? ".", name);
  const found = [".yaml", ".yml"].map((ending) => base + ending).find((path) => existsSync(resolve(directory, path)));
  return found ?? (isBuiltIn(name) ? undefined : `${base}.yaml`);
}

/** The tree with moved keys at their new places. */
function placeMoved(tree: MapNode, name: SchemaName, notes: Note[]): MapNode {
  let result = tree;
  for (const [from, to] of movedPaths(name)) {
    const node = getAt(result, from);
    if (node === undefined) continue;
    notes.push(movedNote(from, to, locationOf(node.origin, from)));
    const bare = pruned(removeAt(result, from) as MapNode, from.slice(0, -1));
    if (isNull(node) && leavesMovedKey(rulesOf(name), to)) {
      result = bare;
      continue;
    }
    const held = getAt(bare, to);
    result = (setAt(bare, to, held === undefined ? node : merge(node, held), node.origin) ?? bare) as MapNode;
  }
  return result;
}

/** Without maps along `path` that have become empty. */
function pruned(tree: MapNode, path: Path): MapNode {
  const node = path.length === 0 ? undefined : getAt(tree, path);
  if (node?.kind !== "map" || node.entries.size > 0) return tree;
  return pruned(removeAt(tree, path) as MapNode, path.slice(0, -1));
}

const isNull = (node: Node): boolean => node.kind === "scalar" && node.value === null;

const movedNote = (from: Path, to: Path, location: ErrorLocation): Note => ({
  message: `\`${showPath(from)}\` is now \`${showPath(to)}\`.`,
  location,
  importance: "spelling",
});

function rulesOf(name: SchemaName): OverrideRules {
  const schema = SCHEMAS[name];
  return {
    schema: name,
    movedTo: (path) => movedTo(path, name),
    accepts: (path) => isOpenAt(schema, path) || (schemaAt(schema, path) ?? reasonWithoutEffect(path)) !== undefined,
    removed: (path) => {
      const field = schemaAt(schema, path);
      if (field === undefined) return "gone";
      const value = emptyOf(field);
      return value === undefined ? "needed" : { value };
    },
  };
}
