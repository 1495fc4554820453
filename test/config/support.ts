import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { loadConfig, type LoadedConfig, type LoadOptions } from "../../core/config/load.ts";
import type { Problem } from "../../core/config/problem.ts";
import { isVerlError, type VerlError } from "../../core/errors/index.ts";

/** A folder of config files that lives as long as `use` runs. */
export function withFiles<T>(files: Readonly<Record<string, string>>, use: (directory: string) => T): T {
  const directory = mkdtempSync(join(tmpdir(), "verl-config-"));
  try {
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(dirname(join(directory, name)), { recursive: true });
      writeFileSync(join(directory, name), text);
    }
    return use(directory);
  } finally {
    rmSync(directory, { recursive: true });
  }
}

/** Loads a PPO config from overrides, and a `run.yaml` when its text is given. */
export function load(
  overrides: readonly string[],
  yaml?: string,
  options: Partial<LoadOptions<"ppo">> = {},
): LoadedConfig<"ppo"> {
  if (yaml === undefined) return loadConfig({ schema: "ppo", overrides, env: {}, ...options });
  return withFiles({ "run.yaml": yaml }, (directory) =>
    loadConfig({ schema: "ppo", file: "run.yaml", directory, overrides, env: {}, ...options }),
  );
}

/** The error that `attempt` throws. */
export function errorOf(attempt: () => unknown): VerlError {
  try {
    attempt();
  } catch (error) {
    if (isVerlError(error)) return error;
    throw error;
  }
  throw new Error("Nothing was thrown.");
}

export const problemsOf = (attempt: () => unknown): readonly Problem[] =>
  errorOf(attempt).details!["problems"] as readonly Problem[];
