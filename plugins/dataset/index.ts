import { provide } from "verl";
import { DynamicDataset } from "./dynamic.ts";
import { RlhfDataset } from "./rlhf.ts";

export const datasets = [
  provide("dataset", "rlhf", {
    description: "Prompts from parquet or JSON Lines in verl's columns, templated and tokenised while loading.",
    departures: [
      "Prompts are tokenised, filtered and truncated here (`truncation` works); verl hands untruncated messages to the agent loop.",
      "A prompt that the chat template refuses is an error that names its row; verl counts it as too long and drops it.",
      "A row without `ground_truth` is an error where a registered score function scores it, or where only some rows of its data source lack it.",
      "`index` is the row's place when `extra_info.index` is absent; verl gives 0 to all.",
    ],
    create: RlhfDataset,
  }),
  provide("dataset", "dynamic", {
    description: "As `rlhf`, and after each step the rows that a generator of the user's (`data.datagen`) makes.",
    departures: [
      "Generated rows are saved with the checkpoint and come back with it; verl's are lost.",
      "Validation data is not added to.",
    ],
    create: DynamicDataset,
  }),
];
