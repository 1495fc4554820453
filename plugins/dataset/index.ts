import { provide } from "verl";
import { RandomSampler } from "./random-sampler.ts";
import { RlhfDataset } from "./rlhf.ts";
import { SequentialSampler } from "./sequential-sampler.ts";

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
  provide("sampler", "sequential", { description: "Rows in file order.", create: SequentialSampler }),
  provide("sampler", "random", {
    description: "A new random order each epoch, settled by the seed and the epoch's number.",
    departures: ["The order is drawn anew from (seed, epoch), not by a generator whose state must be saved."],
    create: RandomSampler,
  }),
];
