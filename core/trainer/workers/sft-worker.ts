import type { DataProto } from "../../batch/data-proto.ts";
import type { SftConfig } from "../../config/index.ts";
import { register } from "../../controller/register.ts";
import type { WorkerContext } from "../../controller/worker.ts";
import { ROLE_CONFIG, type RunContainer } from "../../registry/index.ts";
import { trainOnBatch } from "../actor-update.ts";
import { forwardInParts } from "../forward-in-parts.ts";
import { microBatchSize, type MicroBatchSize } from "../micro-batches.ts";
import { schedule } from "../role-configs.ts";
import { sftLoss, trainedTokens } from "../sft-loss.ts";
import { ModelWorker } from "./model-worker.ts";

/** Padded tokens of a micro-batch when the config leaves its size open; the default of `ppo_max_token_len_per_gpu`. */
const DEFAULT_TOKENS = 16_384;

export interface SftWorkerOptions {
  config: SftConfig;
  container: RunContainer;
  /** Steps of the run. */
  steps: number;
}

/** Trains a model on conversations. */
export class SftWorker extends ModelWorker {
  private readonly microBatch: MicroBatchSize;

  constructor(context: WorkerContext, { config, container, steps }: SftWorkerOptions) {
    const role = { role: "sft", model: config.model, ...schedule(config.optim, { steps, updatesPerStep: 1 }) };
    super(context, container.create("engine", config.engine.strategy, { values: { [ROLE_CONFIG]: role } }));
    this.microBatch = microBatchSize(config.data.micro_batch_size_per_gpu, false, DEFAULT_TOKENS);
  }

  /** One optimizer step. @returns `train/loss`, `train/grad_norm`, `train/lr`. */
  @register({ dispatchMode: "DP_COMPUTE_METRIC" })
  async trainBatch(batch: DataProto): Promise<Record<string, number>> {
    const plan = { miniBatchRows: batch.length, microBatch: this.microBatch, epochs: 1, temperature: 1 };
    return trainOnBatch(this.engine, batch, plan, (rows) => sftLoss(trainedTokens(rows)), "train");
  }

  /** @returns Σ negative log-likelihood of the trained tokens, and their number. */
  @register({ dispatchMode: "DP_COMPUTE_METRIC" })
  async evaluate(batch: DataProto): Promise<{ nll: number; tokens: number }> {
    const { log_probs } = await forwardInParts(this.engine, batch, this.microBatch, {
      temperature: 1,
      outputs: ["log_probs"],
    });
    const mask = batch.tensor("response_mask", "int32").data;
    let nll = 0;
    for (let at = 0; at < mask.length; at++) if (mask[at] !== 0) nll -= log_probs.data[at]!;
    return { nll, tokens: trainedTokens(batch) };
  }
}
