import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { isVerlError, VerlError, type ErrorLocation } from "../errors/index.ts";
import { importSource } from "../registry/import-source.ts";
import { inNameOf } from "../registry/in-name-of.ts";
import { nearest } from "../registry/nearest.ts";
import { resolveOptions } from "../registry/options.ts";
import { registries } from "../registry/registries.ts";
import type { ScoreFunction } from "./reward-manager.ts";

/** The `custom_reward_function` section of the config. */
export interface CustomRewardFunction {
  /** A .ts or .js file; null: a registered function. */
  path: string | null;
  /** What the file exports. Without a file, the key of the function for all rows; `compute_score`: each row's `data_source` chooses. */
  name: string;
  /** Further named arguments of each call; they win over the call's own. For a registered function, its options. */
  reward_kwargs: Readonly<Record<string, unknown>>;
}

/** From where another process loads the same functions. */
export interface ScoreSource {
  readonly config: CustomRewardFunction;
  /** Folder from which a relative path starts. */
  readonly directory: string;
}

/** The score functions of a run; injected under `SCORE_FUNCTIONS`. */
export interface ScoreFunctions {
  /** The function for rows of a data source. @throws VerlError VERL_REWARD_NO_FUNCTION */
  get(dataSource: string): ScoreFunction;
  /** The name of that function in metrics: the export of a file, or a key. Default: the data source. */
  nameOf?(dataSource: string): string;
  /** The file of `custom_reward_function.path`. */
  readonly file?: string;
  /** Absent where the functions exist in this process alone; a pool cannot have them then. */
  readonly source?: ScoreSource;
}

/** Token of the run's `ScoreFunctions`. */
export const SCORE_FUNCTIONS: unique symbol = Symbol.for("verl.token.SCORE_FUNCTIONS");

/** The name that chooses nothing: the export of a file in verl, and the default. */
const BY_DATA_SOURCE = "compute_score";

/**
 * Loads `custom_reward_function`; without a path, functions come from the `reward_score` registry, by `name` or by data source.
 * @param baseDir folder from which a relative path starts. @param section where the config says it, for errors.
 * @throws VerlError VERL_REWARD_FUNCTION_FILE, VERL_REWARD_FUNCTION_EXPORT, VERL_REGISTRY_KEY_UNKNOWN, VERL_OPTIONS_INVALID
 */
export async function loadScoreFunctions(
  config: CustomRewardFunction,
  baseDir: string,
  section = "custom_reward_function",
): Promise<ScoreFunctions> {
  const { path, name, reward_kwargs: kwargs } = config;
  const source = { config, directory: baseDir };
  if (path !== null) {
    const file = resolve(baseDir, path);
    const custom = withKwargs(await loadFunction(file, name, section), kwargs);
    return { get: () => custom, nameOf: () => name, file, source };
  }
  if (name !== BY_DATA_SOURCE) {
    const { key } = registries.reward_score.find(name, { path: `${section}.name` });
    const named = registered(key, kwargs);
    return { get: () => named, nameOf: () => key, source };
  }
  const known = new Map<string, ScoreFunction>();
  return {
    get(dataSource) {
      let score = known.get(dataSource);
      if (score === undefined) {
        score = registered(keyFor(dataSource, section), kwargs);
        known.set(dataSource, score);
      }
      return score;
    },
    nameOf: (dataSource) => keyFor(dataSource, section),
    source,
  };
}

type Kwargs = CustomRewardFunction["reward_kwargs"];

function withKwargs(score: ScoreFunction, kwargs: Kwargs): ScoreFunction {
  return Object.keys(kwargs).length === 0 ? score : (input) => score({ ...input, ...kwargs });
}

/** The function under a key, with its options checked and their defaults filled in, where it says which it has. */
function registered(key: string, kwargs: Kwargs): ScoreFunction {
  const entry = registries.reward_score.resolve(key);
  const { optionsSchema } = entry;
  const score: ScoreFunction = (input) => inNameOf("reward_score", key, () => entry.score(input));
  return withKwargs(score, optionsSchema === undefined ? kwargs : resolveOptions("reward_score", key, kwargs));
}

/** The function for a data source: its key, an alias, or the longest prefix that it starts with. */
function keyFor(dataSource: string, section: string): string {
  const { reward_score: registry } = registries;
  if (registry.has(dataSource)) return registry.find(dataSource).key;
  const [best] = registry
    .entries()
    .flatMap(([key, { dataSourcePrefixes = [] }]) => dataSourcePrefixes.map((prefix) => ({ key, prefix })))
    .filter(({ prefix }) => dataSource.startsWith(prefix))
    .sort((a, b) => b.prefix.length - a.prefix.length);
  if (best !== undefined) return best.key;
  const keys = registry.keys();
  throw new VerlError(
    "VERL_REWARD_NO_FUNCTION",
    `No score function is known for rows with data_source "${dataSource}".`,
    {
      location: { path: `${section}.path` },
      hint: `Set ${section}.path to a file that exports one, or ${section}.name to one that is registered: ${keys.join(", ") || "none is"}.`,
      details: { dataSource, registered: keys },
    },
  );
}

async function loadFunction(file: string, name: string, section: string): Promise<ScoreFunction> {
  const location: ErrorLocation = { file, path: `${section}.path` };
  const isFile = await stat(file).then(
    (info) => info.isFile(),
    () => false,
  );
  if (!isFile) {
    throw new VerlError("VERL_REWARD_FUNCTION_FILE", `The reward file "${file}" does not exist.`, {
      location,
      hint: `${section}.path names a .ts or .js file; a relative path starts at the working directory.`,
    });
  }
  const module = await importFile(file, location);
  const score = module[name];
  if (typeof score === "function") return score as ScoreFunction;
  const exported = Object.keys(module);
  const meant = nearest(
    name,
    exported.filter((key) => typeof module[key] === "function"),
  );
  throw new VerlError(
    "VERL_REWARD_FUNCTION_EXPORT",
    score === undefined
      ? `The reward file exports no "${name}".`
      : `The reward file's export "${name}" is no function.`,
    {
      location,
      hint: `It exports ${exported.join(", ") || "nothing"}.${meant.length > 0 ? ` Did you mean ${section}.name=${meant[0]}?` : ` Set ${section}.name.`}`,
      details: { name, exported },
    },
  );
}

async function importFile(file: string, location: ErrorLocation): Promise<Readonly<Record<string, unknown>>> {
  try {
    return await importSource(pathToFileURL(file).href);
  } catch (cause) {
    if (isVerlError(cause)) throw cause;
    const { message, stack = "" } = cause instanceof Error ? cause : new Error(String(cause));
    throw new VerlError("VERL_REWARD_FUNCTION_FILE", `The reward file does not load: ${message}`, {
      location: { ...location, ...positionIn(file, `${message}\n${stack}`) },
      cause,
      hint: "Mend the file; it must load by itself, without side effects that fail.",
    });
  }
}

/** ` (reward.ts:3:9)`: where in the functions' file an error arose; empty where that is not known. */
export function thrownAt({ file }: ScoreFunctions, error: unknown): string {
  if (file === undefined || !(error instanceof Error)) return "";
  const { line, column } = positionIn(file, error.stack ?? "");
  return ` (${[file, line, column].filter((part) => part !== undefined).join(":")})`;
}

/** The first `file:line:column` of a message or stack that lies in `file`. */
function positionIn(file: string, text: string): { line?: number; column?: number } {
  const at = text.indexOf(`${file}:`);
  const [, line, column] = (at < 0 ? null : /^:(\d{1,9})(?::(\d{1,9}))?/.exec(text.slice(at + file.length))) ?? [];
  return {
    ...(line === undefined ? {} : { line: Number(line) }),
    ...(column === undefined ? {} : { column: Number(column) }),
  };
}
