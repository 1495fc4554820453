import type { DataProto } from "../../batch/data-proto.ts";
import type { SftConfig } from "../../config/index.ts";
import { register } from "../../controller/register.ts";
import type { WorkerContext } from "../../controller/worker.ts";
import type { RoleConfig } from "../../engine/role-config.ts";
import { trainOnBatch } from "../actor-update.ts";
import { forwardInParts } from "../forward-in-parts.ts";
import { microBatchSize, type MicroBatchSize } from "../micro-batches.ts";
import { sumNumbers } from "../rank-sums.ts";
import { schedule } from "../role-configs.ts";
import { openSftSite, type RunSite, type SiteOptions } from "../run-site.ts";
import { sftLoss, trainedTokens } from "../sft-loss.ts";
import { ModelWorker } from "./model-worker.ts";
import type { RunWorkerOptions } from "./run-worker.ts";

/** Padded tokens of a micro-batch when the config leaves its size open; the default of `ppo_max_token_len_per_gpu`. */
const DEFAULT_TOKENS = 16_384;

export interface SftWorkerOptions extends RunWorkerOptions<SftConfig> {
  /** Steps of the run. */
  steps: number;
}

/** Trains a model on conversations. */
export class SftWorker extends ModelWorker<SftConfig, RunSite> {
  static override readonly module: string = "verl";

  private readonly steps: number;
  private readonly microBatch: MicroBatchSize;

  constructor(context: WorkerContext, options: SftWorkerOptions) {
    super(context, options);
    this.steps = options.steps;
    this.microBatch = microBatchSize(this.config.data.micro_batch_size_per_gpu, false, DEFAULT_TOKENS);
  }

  /** One optimizer step. @returns `train/loss`, `train/grad_norm`, `train/lr`. */
  @register({ dispatchMode: "DP_COMPUTE_METRIC" })
  async trainBatch(batch: DataProto): Promise<Record<string, number>> {
    const plan = { miniBatchRows: Infinity, microBatch: this.microBatch, epochs: 1, temperature: 1 };
    return trainOnBatch(this.engine, batch.unpad(), plan, {
      prefix: "train",
      peers: this.peers,
      makeLoss: async (rows) => {
        const { tokens } = await sumNumbers(this.peers, { tokens: trainedTokens(rows) });
        return sftLoss(tokens!);
      },
    });
  }

  /** @returns Σ negative log-likelihood of the trained tokens, and their number. */
  @register({ dispatchMode: "DP_COMPUTE_METRIC" })
  async evaluate(padded: DataProto): Promise<{ nll: number; tokens: number }> {
    const batch = padded.unpad();
    const { log_probs } = await forwardInParts(this.engine, batch, this.microBatch, {
      temperature: 1,
      outputs: ["log_probs"],
    });
    const mask = batch.tensor("response_mask", "int32").data;
    let nll = 0;
    for (let at = 0; at < mask.length; at++) if (mask[at] !== 0) nll -= log_probs.data[at]!;
    return { nll, tokens: trainedTokens(batch) };
  }

  protected override openSite(config: SftConfig, options: SiteOptions): Promise<RunSite> {
    return openSftSite(config, options);
  }

  protected override engineChoice(): { key: string; role: RoleConfig } {
    const { model, optim, engine } = this.config;
    const role = { role: "sft" as const, model, ...schedule(optim, { steps: this.steps, updatesPerStep: 1 }) };
    return { key: engine.strategy, role };
  }
}
