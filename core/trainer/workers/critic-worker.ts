import { countDenominators } from "../../algorithm/aggregate.ts";
import { DataProto } from "../../batch/data-proto.ts";
import { NdArray } from "../../batch/nd-array.ts";
import { batchPlan } from "../../config/batch-plan.ts";
import type { PpoConfig } from "../../config/index.ts";
import { register } from "../../controller/register.ts";
import type { WorkerContext } from "../../controller/worker.ts";
import { ROLE_CONFIG, type RunContainer } from "../../registry/index.ts";
import { createRng } from "../../tensor/rng.ts";
import { trainOnBatch, type UpdatePlan } from "../actor-update.ts";
import { CRITIC_FIELDS, criticLoss } from "../critic-loss.ts";
import { forwardInParts } from "../forward-in-parts.ts";
import { microBatchSize } from "../micro-batches.ts";
import { criticRole } from "../role-configs.ts";
import { MODEL_FIELDS, ModelWorker } from "./model-worker.ts";

export interface CriticOptions {
  config: PpoConfig;
  container: RunContainer;
  /** Steps of the run. */
  steps: number;
}

/** A model with a value head: it estimates what is still to come from each token on, and learns from what came. */
export class CriticWorker extends ModelWorker {
  private readonly config: PpoConfig;

  constructor(context: WorkerContext, { config, container, steps }: CriticOptions) {
    super(
      context,
      container.create("engine", config.critic.strategy, { values: { [ROLE_CONFIG]: criticRole(config, steps) } }),
    );
    this.config = config;
  }

  /** `values`, rows × response length: of the state before each response token; 0 where `response_mask` is 0. */
  @register({ dispatchMode: "DP_COMPUTE_PROTO" })
  async computeValues(batch: DataProto): Promise<DataProto> {
    const { critic } = this.config;
    const size = microBatchSize(
      critic.forward_micro_batch_size_per_gpu ?? critic.forward_micro_batch_size,
      critic.use_dynamic_bsz,
      critic.forward_max_token_len_per_gpu,
    );
    const rows = batch.select({ batchKeys: MODEL_FIELDS, nonTensorBatchKeys: [], metaInfoKeys: [] });
    const { values } = await forwardInParts(this.engine, rows, size, { temperature: 1, outputs: ["values"] });
    const mask = batch.tensor("response_mask").data;
    const inert = values.data.map((value, at) => (Number(mask[at]) === 0 ? 0 : value));
    return DataProto.fromSingleDict({ values: new NdArray("float32", values.shape, inert) });
  }

  /**
   * Trains on the batch: mini-batches × epochs. Rows without a score have no return to learn from and are left out.
   * @returns means over optimizer steps: `critic/vf_loss`, `critic/vf_clipfrac`, `critic/vpred_mean`, `critic/grad_norm`, `critic/lr`.
   */
  @register({ dispatchMode: "DP_COMPUTE_METRIC" })
  async updateCritic(batch: DataProto, { step }: { step: number }): Promise<Record<string, number>> {
    const fields = { batchKeys: [...MODEL_FIELDS, ...CRITIC_FIELDS], nonTensorBatchKeys: [], metaInfoKeys: [] };
    const rows = batch.select(fields).union(DataProto.fromSingleDict({ response_mask: learntMask(batch) }), "replace");
    const makeLoss = (miniBatch: DataProto) =>
      criticLoss(this.config.critic, countDenominators(miniBatch.tensor("response_mask"), null));
    return trainOnBatch(this.engine, rows, this.updatePlan(step), makeLoss, "critic");
  }

  private updatePlan(step: number): UpdatePlan {
    const { critic } = this.config;
    const { microBatch, samplesPerUpdate } = batchPlan(this.config, "critic");
    return {
      miniBatchRows: Math.ceil(samplesPerUpdate / this.worldSize),
      microBatch: microBatch === null ? { tokens: critic.ppo_max_token_len_per_gpu } : { rows: microBatch },
      epochs: critic.ppo_epochs,
      shuffle: critic.shuffle ? createRng(critic.data_loader_seed).stream(`mini_batches/${step}`) : undefined,
      temperature: 1,
    };
  }
}

/** The response mask without the rows that have no score. */
function learntMask(batch: DataProto): NdArray {
  const mask = batch.tensor("response_mask");
  const { data: unscored } = batch.tensor("unscored", "uint8");
  if (!unscored.includes(1)) return mask;
  const width = mask.rowSize;
  const learnt = Float32Array.from({ length: mask.data.length }, (_, at) =>
    unscored[Math.floor(at / width)] === 1 ? 0 : Number(mask.data[at]),
  );
  return new NdArray("float32", mask.shape, learnt);
}
