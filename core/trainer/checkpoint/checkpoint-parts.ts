import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { NdArray, type DType } from "../../batch/nd-array.ts";
import type { EngineState } from "../../engine/training-engine.ts";
import { VerlError } from "../../errors/verl-error.ts";
import { VERSION } from "../../registry/version.ts";
import { readSafetensors, safetensorsChunks } from "../../tensor/safetensors.ts";
import { digestFile, makeDurable, syncDirectory, writeDurably, type FileDigest } from "./durable-files.ts";
import { FORMAT, MANIFEST_FILE, sealed, type Manifest } from "./manifest.ts";
import { stateFromJson, stateToJson } from "./state-json.ts";

/** Folder, of a checkpoint's engine or of the run, that holds a model in the Hugging Face layout. */
export const MODEL_FOLDER = "huggingface";

/** Writes a model into a folder, which it makes. */
export type WriteModel = (folder: string) => unknown;

/** Everything that a run needs to go on as if it had not stopped. All but the engines' arrays is plain JSON data. */
export interface CheckpointParts {
  /** `actor`, `critic`, …: one sub-directory each. */
  engines: Record<string, EngineState>;
  /** Position of the data loader. */
  loader: unknown;
  /** States of the named random streams. */
  rng: unknown;
  /** State of each plugin that keeps one in the trainer's own thread. */
  plugins: Record<string, unknown>;
  /** The same of ranks elsewhere: by group, one element a rank. */
  ranks?: Readonly<Record<string, readonly Readonly<Record<string, unknown>>[]>>;
  /** The trainer's own counters. */
  extra: unknown;
  /** The run's config, to tell a resumed run what has changed. */
  config?: unknown;
}

/** What is written: beside the parts, models that other tools read, to `<engine>/huggingface`. They are not read back. */
export interface CheckpointContent extends CheckpointParts {
  models?: Readonly<Record<string, WriteModel>>;
}

const ENGINE_NAME = /^[A-Za-z0-9][A-Za-z0-9_-]*$/;
const CONFIG_FILE = "config.json";
const RANKS_FILE = "ranks.json";
const STATE_FILES = ["loader", "rng", "plugins", "extra"] as const;

/** Writes every file of a checkpoint into an empty directory, the manifest last, and returns once the disk has them. */
export async function writeParts(directory: string, step: number, parts: CheckpointContent): Promise<void> {
  const files: Record<string, FileDigest> = {};
  const write = async (name: string, pieces: readonly Uint8Array[]) => {
    files[name] = await writeDurably(join(directory, name), pieces);
  };
  for (const [name, state] of Object.entries(parts.engines)) {
    if (!ENGINE_NAME.test(name)) {
      throw new VerlError("VERL_CHECKPOINT_STATE", `"${name}" cannot name an engine's directory in a checkpoint.`);
    }
    await mkdir(join(directory, name));
    await write(`${name}/state.safetensors`, safetensorsChunks(state.arrays));
    await write(`${name}/state.json`, [Buffer.from(stateToJson(state.json, `engines.${name}.json`))]);
    const writeModel = parts.models?.[name];
    if (writeModel) {
      const folder = `${name}/${MODEL_FOLDER}`;
      await writeModel(join(directory, folder));
      for (const file of await makeDurable(join(directory, folder))) {
        files[`${folder}/${file}`] = await digestFile(join(directory, folder, file));
      }
    }
    await syncDirectory(join(directory, name));
  }
  for (const name of STATE_FILES) await write(`${name}.json`, [Buffer.from(stateToJson(parts[name], name))]);
  if (parts.ranks !== undefined) await write(RANKS_FILE, [Buffer.from(stateToJson(parts.ranks, "ranks"))]);
  if (parts.config !== undefined) {
    await write(CONFIG_FILE, [Buffer.from(stateToJson(parts.config, "config"))]);
  }
  const manifest: Manifest = {
    format: FORMAT,
    step,
    verl: VERSION,
    saved_at: new Date().toISOString(),
    engines: Object.keys(parts.engines),
    files,
  };
  await writeDurably(join(directory, MANIFEST_FILE), [Buffer.from(JSON.stringify(sealed(manifest), null, 2))]);
  await syncDirectory(directory);
}

/** Reads what `writeParts` wrote; hashes are the caller's business. */
export async function readParts(directory: string, manifest: Manifest): Promise<CheckpointParts> {
  const readState = async (name: string) => stateFromJson(await readFile(join(directory, name), "utf8"));
  const engines: Record<string, EngineState> = {};
  for (const name of manifest.engines) {
    const { arrays } = await readSafetensors(join(directory, name, "state.safetensors"));
    engines[name] = {
      arrays: new Map(
        [...arrays].map(([key, { dtype, shape, data }]) => [key, new NdArray<DType>(dtype, shape, data)]),
      ),
      json: (await readState(join(name, "state.json"))) as Record<string, unknown>,
    };
  }
  return {
    engines,
    loader: await readState("loader.json"),
    rng: await readState("rng.json"),
    plugins: (await readState("plugins.json")) as Record<string, unknown>,
    extra: await readState("extra.json"),
    ...(RANKS_FILE in manifest.files && { ranks: (await readState(RANKS_FILE)) as CheckpointParts["ranks"] }),
    ...(CONFIG_FILE in manifest.files && { config: await readState(CONFIG_FILE) }),
  };
}
