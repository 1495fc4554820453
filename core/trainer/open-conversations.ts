import type { SftConfig } from "../config/index.ts";
import { loadCustomClass, requireMethods } from "../data/custom-class.ts";
import { DATASET_SOURCE, type Dataset, type DatasetSource } from "../data/dataset.ts";
import { loadSftDataset, type SftDataset } from "../data/sft-dataset.ts";
import type { Tokenizer } from "../data/tokenizer.ts";
import type { Logger, RunContainer } from "../registry/index.ts";

export interface OpenConversationsOptions {
  tokenizer: Tokenizer;
  log: Logger;
  /** Shows how far a long work is. */
  progress: DatasetSource["progress"];
  /** Folder from which the path of the user's class starts. */
  directory: string;
}

const OPTION = "data.custom_cls.path";

/** The conversations of a split: of the files, or of the class that `data.custom_cls` names (`load`, `length`, `example(index)`, `stats`). */
export async function openConversations(
  container: RunContainer,
  { data }: SftConfig,
  split: "train" | "validation",
  { tokenizer, log, progress, directory }: OpenConversationsOptions,
): Promise<SftDataset> {
  const files = split === "train" ? data.train_files : data.val_files;
  const maxSamples = split === "train" ? data.train_max_samples : data.val_max_samples;
  const { path, name } = data.custom_cls;
  if (path === null) return loadSftDataset({ files, maxSamples, config: data, tokenizer, log, progress });
  const custom = await loadCustomClass<Dataset>({ path, name }, OPTION, directory);
  const source: DatasetSource = { split, files, maxSamples, shuffle: data.shuffle, progress, directory };
  const dataset = container.createClass(
    "dataset",
    { ...custom, source: custom.file },
    { values: { [DATASET_SOURCE]: source } },
  );
  requireMethods(dataset, ["load", "example"], custom, OPTION);
  await dataset.load();
  // The registry knows datasets of prompts; this one has been looked at for an SFT dataset's methods.
  return dataset as unknown as SftDataset;
}
