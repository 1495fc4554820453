import { existsSync } from "node:fs";
import { resolve } from "node:path";
import type { LoadedConfig } from "../config/index.ts";
import { expandPath } from "../config/expand-path.ts";
import { VerlError } from "../errors/index.ts";
import { isGiven } from "./is-given.ts";

/** What a run reads that no default can know. */
interface Input {
  readonly key: string;
  readonly paths: readonly string[];
  /** The key with a value, for an example. */
  readonly example: string;
}

/**
 * Refuses a run that was not told what to train: a key of its data or its model is left at a default that does not exist here.
 * @throws VERL_CONFIG_MISSING, naming all such keys.
 */
export function requireInputs(loaded: LoadedConfig): void {
  const missing = inputsOf(loaded).filter(
    ({ key, paths }) =>
      !isGiven(loaded, key) && paths.some((path) => !existsSync(resolve(loaded.directory, expandPath(path)))),
  );
  if (missing.length === 0) return;
  const command = loaded.schema === "ppo" ? "verl train" : "verl sft";
  const keys = missing.map(({ key }) => key);
  throw new VerlError(
    "VERL_CONFIG_MISSING",
    `\`${command}\` was not told what to train: ${listed(keys)} not set, and there is nothing at the default.`,
    {
      hint: [
        "Name a config file that sets them, or set them on the command line:",
        `  ${command} run.yaml`,
        `  ${command} ${missing.map(({ example }) => example).join(" ")}`,
      ].join("\n"),
      location: { path: keys[0] },
      details: { missing: keys },
    },
  );
}

function inputsOf({ config }: LoadedConfig): Input[] {
  const [model, readsFiles] =
    "actor_rollout_ref" in config
      ? [
          { key: "actor_rollout_ref.model.path", path: config.actor_rollout_ref.model.path },
          config.data.dataset === "rlhf",
        ]
      : [{ key: "model.path", path: config.model.path }, true];
  const { train_files, val_files, custom_cls } = config.data;
  return [
    ...(readsFiles && custom_cls.path === null
      ? [
          { key: "data.train_files", paths: train_files, example: "data.train_files=train.parquet" },
          { key: "data.val_files", paths: val_files, example: "data.val_files=null" },
        ]
      : []),
    { key: model.key, paths: [model.path], example: `${model.key}=models/qwen3` },
  ];
}

function listed(keys: readonly string[]): string {
  const last = keys.at(-1)!;
  return keys.length === 1 ? `${last} is` : `${keys.slice(0, -1).join(", ")} and ${last} are`;
}
