import { VerlError, type ErrorCode, type ErrorLocation } from "../errors/index.ts";
import { nearest, quotedAlternatives } from "../registry/nearest.ts";
import { resolveOptions } from "../registry/options.ts";
import { registries } from "../registry/registries.ts";
import { missingFiles } from "./option-files.ts";
import type { Problem } from "./problem.ts";
import { isMap, mapField, readEntriesFile, textField, type FileEntry } from "./entries-file.ts";
import { parametersFault } from "./tool-parameters.ts";

/** Files of a run that list classes of plugins with their options, in verl's form. */
const FILES = {
  tool: {
    title: "tools",
    list: "tools",
    path: "actor_rollout_ref.rollout.multi_turn.tool_config_path",
    // verl writes `mcp` of a server beside its `config`.
    fields: ["class_name", "config", "tool_schema", "timeout_s", "mcp"],
    names: { title: "tools", field: "tool_schema.function.name", of: toolName },
  },
  interaction: {
    title: "interactions",
    list: "interaction",
    path: "actor_rollout_ref.rollout.multi_turn.interaction_config_path",
    fields: ["name", "class_name", "config"],
    names: { title: "interactions", field: "name", of: interactionName },
  },
} as const;

/** One class of a file. */
export interface ListedClass {
  /** Key of the registry. */
  readonly key: string;
  /** Its options, as the file has them. */
  readonly options: Readonly<Record<string, unknown>>;
  readonly locate: ErrorLocation;
  /** All of its entry. */
  readonly entry: FileEntry;
}

/**
 * Reads the tools file or the interactions file of a run, and checks all that can be known before anything is constructed.
 * @param path null: there is none
 * @throws VerlError VERL_AGENT_FILE, VERL_AGENT_TOOL, VERL_REGISTRY_KEY_UNKNOWN, VERL_OPTIONS_INVALID
 */
export function readClassesFile(
  kind: keyof typeof FILES,
  path: string | null,
  option: string = FILES[kind].path,
): ListedClass[] {
  if (path === null) return [];
  const locate = { file: path, path: option };
  return readEntriesFile(path, FILES[kind].list, option, FILES[kind].names).map((entry) => {
    const key = textField(entry, "class_name", option);
    checkFields(kind, key, entry, locate);
    const config = mapField(entry, "config", option);
    const options = kind === "tool" ? optionsOfTool(config, entry["mcp"]) : config;
    resolveOptions(kind, key, options, locate);
    return { key, options, locate, entry };
  });
}

/** Finds what may not be wrong before a run begins. @returns files that options name and that are not there. @throws as `readClassesFile` */
export const checkClassesFile = (...file: Parameters<typeof readClassesFile>): Problem[] =>
  readClassesFile(...file).flatMap(({ key, options, locate }) => missingFiles(file[0], key, options, locate));

/** The name that an interaction goes by. */
function interactionName({ name, class_name: key }: FileEntry): unknown {
  return isAbsent(name) ? key : name;
}

/** The name that an entry gives its tool. A class's own is known once it is constructed, and a server gives its tools theirs. */
function toolName({ class_name: key, tool_schema: schema }: FileEntry): unknown {
  if (typeof key === "string" && isServer(key)) return undefined;
  return isMap(schema) && isMap(schema["function"]) ? schema["function"]["name"] : undefined;
}

/** Whether the class may be a server's, by its methods. */
const isServer = (key: string): boolean => "open" in ((registries.tool.get(key)?.create.prototype ?? {}) as object);

/** verl's `type` says whether the class is a server's, which the class knows by itself. */
const optionsOfTool = ({ type: _, ...config }: Record<string, unknown>, mcp: unknown): Record<string, unknown> =>
  mcp === undefined ? config : { mcp, ...config };

function checkFields(kind: keyof typeof FILES, key: string, entry: FileEntry, location: ErrorLocation): void {
  const { title, fields } = FILES[kind];
  const fault = (code: ErrorCode, what: string, hint: string): VerlError =>
    new VerlError(code, `The entry "${key}" of the ${title} file ${what}.`, { location, hint });
  const odd = Object.keys(entry).find((name) => !fields.some((field) => field === name));
  if (odd !== undefined) {
    const meant = nearest(odd, fields);
    const question = meant.length === 0 ? "" : `Did you mean ${quotedAlternatives(meant)}? `;
    throw fault(
      "VERL_AGENT_FILE",
      `has a field \`${odd}\`, which entries do not have`,
      `${question}Its fields are ${fields.join(", ")}; a class's own options stand under \`config\`.`,
    );
  }
  const { timeout_s: timeout, tool_schema: schema, name } = entry;
  if (!isAbsent(timeout) && !(typeof timeout === "number" && timeout > 0 && timeout < Infinity))
    throw fault(
      "VERL_AGENT_FILE",
      `has ${JSON.stringify(timeout)} as its \`timeout_s\``,
      "It is a number of seconds above 0.",
    );
  if (!isAbsent(name) && typeof name !== "string")
    throw fault(
      "VERL_AGENT_FILE",
      `has ${JSON.stringify(name)} as its \`name\``,
      "It is a text; without one, the class_name is.",
    );
  const missing = isAbsent(schema) ? undefined : missingOf(schema);
  if (missing !== undefined)
    throw fault(
      "VERL_AGENT_TOOL",
      `has a \`tool_schema\` without \`${missing}\``,
      "A schema is { type: function, function: { name, description, parameters } }, with a JSON Schema of an object as parameters.",
    );
  const wrong = isAbsent(schema)
    ? undefined
    : parametersFault((schema as { function: { parameters: object } }).function.parameters);
  if (wrong !== undefined)
    throw fault("VERL_AGENT_TOOL", `has a \`tool_schema\` whose \`function.parameters\` are no JSON Schema`, wrong);
}

/** What every schema of a tool has and this one has not. */
function missingOf(schema: unknown): string | undefined {
  const own = isMap(schema) ? schema["function"] : undefined;
  if (!isMap(own)) return "function";
  if (typeof own["name"] !== "string" || own["name"] === "") return "function.name";
  return isMap(own["parameters"]) ? undefined : "function.parameters";
}

const isAbsent = (value: unknown): value is null | undefined => value === undefined || value === null;
