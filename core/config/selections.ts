import { isVerlError } from "../errors/index.ts";
import { kindInfo, KIND_NAMES, registries, resolveOptions, type Kind, type OptionProblem } from "../registry/index.ts";
import { AgentsFile } from "./agents-file.ts";
import { checkClassesFile } from "./classes-file.ts";
import type { LoadedConfig } from "./load.ts";
import { byImportance, type Note } from "./note.ts";
import { problemsError, type Problem } from "./problem.ts";
import type { PpoConfig, SchemaName } from "./schema/index.ts";
import { fromValue, getAt, parsePath, setAt, toValue, type MapNode, type Node } from "./tree.ts";
import { VERL_LOSS_OPTIONS } from "./verl-keys.ts";

interface Selector {
  readonly kind: Kind;
  readonly path: string;
  readonly optionsAt?: string;
}

/** Where keys of registries stand besides `KindInfo.selectedBy`. */
const FURTHER: Readonly<Record<SchemaName, readonly Selector[]>> = {
  ppo: [
    { kind: "kl_penalty", path: "actor_rollout_ref.actor.kl_loss_type" },
    { kind: "engine", path: "actor_rollout_ref.ref.strategy" },
    { kind: "engine", path: "critic.strategy" },
    { kind: "loss_agg", path: "critic.loss_agg_mode" },
  ],
  sft: [{ kind: "engine", path: "engine.strategy" }],
};

/** Kinds that are chosen by a key at the root of every config, or under `trainer`. */
const IN_EVERY_RUN: readonly Kind[] = ["tracker", "tensor_backend", "transport"];

/** Keys that are read only when something else is on; a default among them that is not read may name what is not there. */
const READ_WHEN: Readonly<Record<string, (config: PpoConfig) => boolean>> = {
  "algorithm.kl_penalty": ({ algorithm }) => algorithm.use_kl_in_reward,
  "actor_rollout_ref.actor.kl_loss_type": ({ actor_rollout_ref: policy }) => policy.actor.use_kl_loss,
  "actor_rollout_ref.rollout.multi_turn.format": ({ actor_rollout_ref: policy }) => policy.rollout.multi_turn.enable,
};

/** verl's own engines and trackers, which a pasted command line names, and what runs in their place; null: nothing. */
const STAND_INS: Partial<Record<Kind, { readonly keys: readonly string[]; readonly by: string | null }>> = {
  engine: { keys: ["fsdp", "fsdp2", "megatron", "veomni"], by: "embedded" },
  rollout: { keys: ["vllm", "sglang", "trtllm", "hf"], by: "embedded" },
  tracker: { keys: ["wandb", "tracking", "swanlab", "mlflow", "clearml", "vemlp_wandb", "trackio"], by: null },
};

/** The paths of a config that hold keys of registries. */
export function selectorsOf(schema: SchemaName): readonly Selector[] {
  const own = KIND_NAMES.flatMap((kind): Selector[] => {
    const { selectedBy, optionsAt } = kindInfo(kind);
    const applies = selectedBy !== undefined && (schema === "ppo" || IN_EVERY_RUN.includes(kind));
    return applies ? [{ kind, path: selectedBy, optionsAt }] : [];
  });
  return [...own, ...FURTHER[schema]];
}

/**
 * Resolves every registry key that the config names and validates the options of each by the entry's own schema. Plugins must be
 * loaded before. verl's engines and trackers that are not registered give way to what stands in for them, with a note; so use the
 * config that is returned.
 * @throws One VerlError with every problem, as `loadConfig` does.
 */
export function validateSelections<S extends SchemaName>(loaded: LoadedConfig<S>): LoadedConfig<S> {
  const checked = checkSelections(loaded);
  if (checked.problems.length > 0) throw problemsError(checked.problems, loaded.sources);
  return checked.loaded;
}

/** The same, with the problems beside the config. */
export function checkSelections<S extends SchemaName>(
  loaded: LoadedConfig<S>,
): { loaded: LoadedConfig<S>; problems: Problem[] } {
  const problems: Problem[] = [];
  const notes: Note[] = [...loaded.notes];
  let values = fromValue(loaded.config, { from: "default" }) as MapNode;
  const agents = loaded.schema === "ppo" ? readAgents(loaded.config as PpoConfig) : undefined;
  if (loaded.schema === "ppo") checkClassesFiles(loaded.config as PpoConfig);
  for (const selector of selectorsOf(loaded.schema)) {
    const path = parsePath(selector.path);
    const node = getAt(values, path);
    if (node === undefined) continue;
    const keys = (node.kind === "list" ? node.items : [node]).map(toValue);
    const kept = keys.flatMap((key, index): unknown[] => {
      if (typeof key !== "string") return [key];
      const at = node.kind === "list" && keys.length > 1 ? `${selector.path}.${index}` : selector.path;
      return select(selector, key, at);
    });
    const replacement: unknown = node.kind === "list" ? kept : kept[0];
    values = setAt(values, path, fromValue(replacement, node.origin), node.origin) as MapNode;
  }
  return {
    loaded: { ...loaded, config: toValue(values) as LoadedConfig<S>["config"], notes: byImportance(notes) },
    problems,
  };

  /** The key or what stands in for it; none when it is left out. */
  function select({ kind, optionsAt }: Selector, key: string, at: string): string[] {
    const location = loaded.originOf(at);
    const written = location.file !== undefined || location.override !== undefined;
    if (!written && (registries[kind].keys().length === 0 || !isRead(at))) return [key];
    const standIn = STAND_INS[kind];
    if (standIn?.keys.includes(key) && !registries[kind].has(key)) {
      const instead = standIn.by === null ? "it is left out" : `\`${standIn.by}\` is used instead`;
      notes.push({
        message: `\`${at}: ${key}\` is verl's own ${kindInfo(kind).title}; ${instead}.`,
        location,
        importance: kind === "tracker" ? "output" : "cost",
      });
      return standIn.by === null ? [] : [standIn.by];
    }
    try {
      const name = kind === "kl_penalty" ? key.replace(/\+$/, "") : key;
      if (kind === "agent_loop") agents?.require(name, location);
      else if (optionsAt === undefined) registries[kind].resolve(name, location);
      else
        resolveOptions(kind, name, optionsOf(optionsAt, kind, name), (option) =>
          loaded.originOf(option === "" ? at : `${optionsAt}.${option}`),
        );
    } catch (error) {
      problems.push(...problemsOf(error));
    }
    return [key];
  }

  /** What its file has wrong is told once, and then no name is said to be unknown. */
  function readAgents({ actor_rollout_ref: policy }: PpoConfig): AgentsFile | undefined {
    const path = policy.rollout.agent.agent_loop_config_path;
    try {
      const file = new AgentsFile(pathOf(path));
      problems.push(...file.check());
      return file;
    } catch (error) {
      problems.push(...problemsOf(error));
      return undefined;
    }
  }

  function checkClassesFiles({ actor_rollout_ref: policy, data }: PpoConfig): void {
    const { tool_config_path: tools, interaction_config_path: interactions } = policy.rollout.multi_turn;
    const further = data.tool_config_path === tools ? null : data.tool_config_path;
    const reads = [
      () => checkClassesFile("tool", pathOf(tools)),
      () => checkClassesFile("interaction", pathOf(interactions)),
      () => checkClassesFile("tool", pathOf(further), "data.tool_config_path"),
    ];
    for (const read of reads) {
      try {
        problems.push(...read());
      } catch (error) {
        problems.push(...problemsOf(error));
      }
    }
  }

  function isRead(at: string): boolean {
    return loaded.schema === "sft" || (READ_WHEN[at]?.(loaded.config as PpoConfig) ?? true);
  }

  function optionsOf(optionsAt: string, kind: Kind, key: string): Record<string, unknown> {
    const node: Node | undefined = getAt(values, parsePath(optionsAt));
    const options = Object.entries(((node && toValue(node)) ?? {}) as Record<string, unknown>);
    const own = registries[kind].get(key)?.optionsSchema?.properties ?? {};
    const idle = (name: string) => kind === "policy_loss" && VERL_LOSS_OPTIONS.has(name) && !(name in own);
    return Object.fromEntries(options.filter(([name]) => !idle(name)));
  }
}

/** A path of the config; a value of another type, which is reported by itself, names no file. */
const pathOf = (value: unknown): string | null => (typeof value === "string" ? value : null);

/** An unknown key, or each wrong option by itself. */
export function problemsOf(error: unknown): Problem[] {
  if (!isVerlError(error)) throw error;
  const {
    code,
    message,
    hint,
    location = {},
    details,
    cause,
  } = error as Error & Problem & { details?: Record<string, unknown> };
  const options = details?.["problems"] as readonly OptionProblem[] | undefined;
  if (options === undefined) return [{ code, message, hint, location, cause }];
  return options.map((option) => ({ code, message: option.message, hint, location: option.location ?? location }));
}
