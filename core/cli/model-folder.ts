import { existsSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { entriesIn, foldersIn } from "../data/entries-in.ts";
import { VerlError } from "../errors/index.ts";
import { MODEL_FOLDER } from "../trainer/checkpoint/checkpoint-parts.ts";

const FILES = ["config.json", "tokenizer.json", "tokenizer_config.json", "model.safetensors"];

/** What a model folder has, for hints. */
export const MODEL_FILES = `A model folder has ${FILES.slice(0, -1).join(", ")} and ${FILES.at(-1)}.`;

/** Refuses a path at which something is that is no model folder with weights. @throws VERL_CLI_FILE, with a folder near it that is one */
export function requireModelFolder(path: string): void {
  const isFolder = statSync(path).isDirectory();
  const missing = missingIn(path);
  if (missing.length === 0) return;
  const what = isFolder ? `is no model folder with weights: it has no ${missing.join(", ")}` : "is no folder";
  throw new VerlError("VERL_CLI_FILE", `${path} ${what}.`, {
    location: { file: path },
    hint: [...meant(path), ...(isFolder ? sharded(path) : []), MODEL_FILES].join(" "),
  });
}

const missingIn = (folder: string): string[] => FILES.filter((name) => !existsSync(join(folder, name)));

function meant(path: string): string[] {
  const near = [dirname(path), ...foldersBelow(path, 3).filter((folder) => folder.endsWith(`/${MODEL_FOLDER}`))];
  const [found] = near.filter((folder) => missingIn(folder).length === 0);
  return found === undefined ? [] : [`Did you mean "${found}"?`];
}

/** Those of a run's directory, the shallow ones first. */
function foldersBelow(path: string, depth: number): string[] {
  if (depth === 0) return [];
  const own = foldersIn(path).map((name) => join(path, name));
  return [...own, ...own.flatMap((folder) => foldersBelow(folder, depth - 1))];
}

const sharded = (folder: string): string[] =>
  entriesIn(folder).some(({ name }) => /^model-\d+-of-\d+\.safetensors$/.test(name))
    ? ["Weights in several files are not read: join them to one."]
    : [];
