import type { PpoConfig } from "../config/index.ts";
import { loadCustomClass, requireMethods, type LoadedClass } from "../data/custom-class.ts";
import {
  DATASET,
  DATASET_SOURCE,
  type Dataset,
  type DatasetSource,
  type PromptTools,
  type Sampler,
} from "../data/dataset.ts";
import { DataLoader } from "../data/loader.ts";
import { allInNameOf, RNG, type RunContainer } from "../registry/index.ts";
import { createRng } from "../tensor/rng.ts";

/** The prompts of a run. */
export interface RunData {
  train: Dataset;
  validation: Dataset | undefined;
  loader: DataLoader;
}

export interface OpenDataOptions {
  /** Folder from which paths of the user's classes start. */
  directory: string;
  /** Tools of rows that bring none. */
  tools?: PromptTools;
  progress?: DatasetSource["progress"];
}

/** Opens the datasets and the sampler that the config names, by key or by file. */
export async function openData(
  container: RunContainer,
  config: PpoConfig,
  { directory, tools, progress }: OpenDataOptions,
): Promise<RunData> {
  const { data } = config;
  const { path, name } = data.custom_cls;
  const custom =
    path === null ? undefined : await loadCustomClass<Dataset>({ path, name }, "data.custom_cls.path", directory);
  const open = (source: DatasetSource): Promise<Dataset> => openDataset(container, config, custom, source);
  const train = await open({
    split: "train",
    files: data.train_files,
    weights: data.train_weights,
    maxSamples: data.train_max_samples,
    shuffle: data.shuffle,
    directory,
    tools,
    progress,
  });
  const validation =
    data.val_files.length === 0 || !validates(config.trainer)
      ? undefined
      : await open({
          split: "validation",
          files: data.val_files,
          maxSamples: data.val_max_samples,
          shuffle: data.shuffle,
          directory,
          tools,
          progress,
        });
  return { train, validation, loader: await openLoader(container, config, train, directory) };
}

const generates = ({ datagen, dataset }: PpoConfig["data"]): boolean => datagen.path !== null && dataset === "rlhf";

/** Data that nothing is ever validated on are not read. */
const validates = ({ test_freq, val_before_train, val_only }: PpoConfig["trainer"]): boolean =>
  test_freq > 0 || val_before_train || val_only;

/** The dataset that a run trains on, in words of its config. */
export function trainDatasetName(data: PpoConfig["data"]): string {
  const { custom_cls, datagen, dataset } = data;
  if (custom_cls.path !== null) return `the dataset ${custom_cls.name} (${custom_cls.path})`;
  return generates(data) ? `the generator of rows (${datagen.path})` : `the dataset "${dataset}"`;
}

async function openDataset(
  container: RunContainer,
  { data }: PpoConfig,
  custom: LoadedClass<Dataset> | undefined,
  source: DatasetSource,
): Promise<Dataset> {
  const values = { [DATASET_SOURCE]: source };
  let dataset: Dataset;
  if (custom !== undefined) {
    dataset = container.createClass("dataset", { ...custom, source: custom.file }, { values });
    requireMethods(dataset, ["load", "promptIds", "row"], custom, "data.custom_cls.path");
  } else {
    const key = source.split === "train" && generates(data) ? "dynamic" : data.dataset;
    dataset = allInNameOf("dataset", key, container.create("dataset", key, { values }));
  }
  await dataset.load();
  return dataset;
}

async function openLoader(
  container: RunContainer,
  { data, trainer, algorithm }: PpoConfig,
  train: Dataset,
  directory: string,
): Promise<DataLoader> {
  const { name, kwargs, class_path: path, class_name } = data.sampler;
  const values = { [RNG]: createRng(data.seed ?? trainer.seed), [DATASET]: train };
  let sampler: Sampler;
  if (path !== null) {
    const custom = await loadCustomClass<Sampler>({ path, name: class_name }, "data.sampler.class_path", directory);
    sampler = container.createClass("sampler", { ...custom, source: custom.file }, { options: kwargs, values });
    requireMethods(sampler, ["order", "saveState", "loadState"], custom, "data.sampler.class_path");
  } else {
    const key = name ?? (data.shuffle ? "random" : "sequential");
    sampler = allInNameOf("sampler", key, container.create("sampler", key, { options: kwargs, values }));
  }
  const generated = algorithm.filter_groups.enable ? data.gen_batch_size : null;
  return new DataLoader({ length: train.length, batchSize: generated ?? data.train_batch_size, sampler });
}
