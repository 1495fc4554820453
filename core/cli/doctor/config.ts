import { accessSync, constants, existsSync } from "node:fs";
import { dirname, isAbsolute, resolve } from "node:path";
import { loadRunConfig, type LoadedConfig, type LoadOptions } from "../../config/index.ts";
import { counted, formatLocation, isVerlError, type ErrorLocation } from "../../errors/index.ts";
import { loadedPlugins, loadPlugins } from "../../registry/index.ts";
import { availablePlugins } from "../list-available.ts";
import type { Check } from "./check.ts";

const PATIENCE_MS = 3_000;

interface ConfigProblem {
  readonly message: string;
  readonly hint?: string;
  readonly location?: ErrorLocation;
}

/** Whether a config is valid, with every problem that it has. */
export async function checkConfig(options: LoadOptions): Promise<{ checks: Check[]; loaded?: LoadedConfig }> {
  try {
    const loaded = await loadRunConfig(options);
    const remarks =
      loaded.notes.length === 0 ? "" : `, with ${counted(loaded.notes.length, "remark")} (\`verl config explain\`)`;
    return { checks: [{ name: "config", state: "ok", detail: `valid${remarks}` }], loaded };
  } catch (error) {
    if (!isVerlError(error)) throw error;
    const own: ConfigProblem = error;
    const problems = (error.details?.["problems"] as ConfigProblem[] | undefined) ?? [own];
    return {
      checks: problems.map(({ message, hint, location }) => ({
        name: "config",
        state: "fail",
        detail: [location && formatLocation(location), message].filter(Boolean).join("  "),
        fix: hint ?? own.hint,
      })),
    };
  }
}

/** Plugins in use with their versions, and those that are only installed. */
export async function checkPlugins(cwd: string): Promise<Check[]> {
  await loadPlugins([]);
  const used = loadedPlugins().map(({ name, version, provides }): Check => {
    const source = version === undefined ? name : `${name}@${version}`;
    return { name: "plugin", state: "ok", detail: `${source}, ${counted(provides.length, "entry", "entries")}` };
  });
  const idle = availablePlugins(cwd).map(({ name, version }): Check => {
    return { name: "plugin", state: "note", detail: `${name}@${version} is installed, not enabled` };
  });
  return [...used, ...idle];
}

/** What a valid config needs around it: its files, a place to write to, and the servers that it names. */
export async function checkSurroundings({ config, directory }: LoadedConfig): Promise<Check[]> {
  const { data } = config;
  const model = "actor_rollout_ref" in config ? config.actor_rollout_ref.model.path : config.model.path;
  const files = ([] as unknown[]).concat(data.train_files, data.val_files);
  return [
    ...files.filter((file) => typeof file === "string").map((file) => checkFile("data file", file, directory)),
    ...(typeof model === "string" ? [checkFile("model", model, directory)] : []),
    checkWritable(resolve(directory, config.trainer.default_local_dir)),
    ...(await Promise.all(addressesIn(config).map(checkServer))),
  ];
}

/** An id of a hub has no folder here; what looks like a path has to be one. */
function checkFile(name: string, file: string, directory: string): Check {
  const path = isAbsolute(file) ? file : resolve(directory, file.replace(/^~(?=\/)/, process.env["HOME"] ?? "~"));
  if (existsSync(path)) return { name, state: "ok", detail: file };
  return {
    name,
    state: "fail",
    detail: `${file} does not exist`,
    fix: `Make it, or mend the path; it starts at ${directory}.`,
  };
}

function checkWritable(folder: string): Check {
  const name = "run folder";
  let existing = folder;
  while (!existsSync(existing)) existing = dirname(existing);
  try {
    accessSync(existing, constants.W_OK);
    return { name, state: "ok", detail: folder };
  } catch {
    return { name, state: "fail", detail: `${existing} cannot be written to`, fix: "Set trainer.default_local_dir." };
  }
}

interface Address {
  readonly path: string;
  readonly url: URL;
}

/** Every address of a server that the config names. */
function addressesIn(value: unknown, path = ""): Address[] {
  if (typeof value === "string" && /^https?:\/\//.test(value) && URL.canParse(value))
    return [{ path, url: new URL(value) }];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, child]) => addressesIn(child, path === "" ? key : `${path}.${key}`));
}

/** Any answer will do: what a server offers is its client's to check. */
async function checkServer({ path, url }: Address): Promise<Check> {
  const shown = url.origin + url.pathname; // Neither names nor tokens.
  try {
    const { status } = await fetch(url, { signal: AbortSignal.timeout(PATIENCE_MS), redirect: "manual" });
    return { name: "server", state: "ok", detail: `${shown} (${path}) answers with ${status}` };
  } catch (error) {
    const { cause, message } = error as Error & { cause?: { code?: string; message?: string } };
    const reason = cause?.code ?? cause?.message ?? message;
    return {
      name: "server",
      state: "fail",
      detail: `${shown} (${path}): ${reason}`,
      fix: `Start it, or mend ${path}.`,
    };
  }
}
