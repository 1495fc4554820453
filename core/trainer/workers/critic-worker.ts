import { countDenominators } from "../../algorithm/aggregate.ts";
import { DataProto } from "../../batch/data-proto.ts";
import { NdArray } from "../../batch/nd-array.ts";
import { batchPlan } from "../../config/batch-plan.ts";
import type { PpoConfig } from "../../config/index.ts";
import { register } from "../../controller/register.ts";
import type { WorkerContext } from "../../controller/worker.ts";
import type { RoleConfig } from "../../engine/role-config.ts";
import { trainOnBatch, type UpdatePlan } from "../actor-update.ts";
import { CRITIC_FIELDS, criticLoss } from "../critic-loss.ts";
import { forwardInParts } from "../forward-in-parts.ts";
import { microBatchSize } from "../micro-batches.ts";
import { learntMask } from "../learnt-mask.ts";
import { ROW_FIELD } from "../mini-batches.ts";
import { sumDenominators } from "../rank-sums.ts";
import { criticRole } from "../role-configs.ts";
import { openPpoSite, type PpoSite, type SiteOptions } from "../run-site.ts";
import { criticShuffle } from "../shuffles.ts";
import { MODEL_FIELDS, ModelWorker } from "./model-worker.ts";
import type { RunWorkerOptions } from "./run-worker.ts";

export interface CriticOptions extends RunWorkerOptions<PpoConfig> {
  /** Steps of the run. */
  steps: number;
}

/** A model with a value head: it estimates what is still to come from each token on, and learns from what came. */
export class CriticWorker extends ModelWorker<PpoConfig, PpoSite> {
  static override readonly module: string = "verl";

  private readonly steps: number;

  constructor(context: WorkerContext, options: CriticOptions) {
    super(context, options);
    this.steps = options.steps;
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
    const own = batch.unpad();
    const response_mask = learntMask(own.tensor("response_mask", "int32"), own.tensor("unscored", "uint8").data);
    const rows = own
      .select({
        batchKeys: [...MODEL_FIELDS, ...CRITIC_FIELDS, ...(own.batch.has(ROW_FIELD) ? [ROW_FIELD] : [])],
        nonTensorBatchKeys: [],
        metaInfoKeys: [],
      })
      .union(DataProto.fromSingleDict({ response_mask }), "replace");
    return trainOnBatch(this.engine, rows, this.updatePlan(step), {
      prefix: "critic",
      peers: this.peers,
      makeLoss: async (miniBatch) => {
        const counted = countDenominators(miniBatch.tensor("response_mask"), null);
        return criticLoss(this.config.critic, await sumDenominators(this.peers, counted));
      },
    });
  }

  protected override openSite(config: PpoConfig, options: SiteOptions): Promise<PpoSite> {
    return openPpoSite(config, options);
  }

  protected override engineChoice(): { key: string; role: RoleConfig } {
    return { key: this.config.critic.strategy, role: criticRole(this.config, this.steps) };
  }

  private updatePlan(step: number): UpdatePlan {
    const { critic } = this.config;
    const { microBatch, samplesPerUpdate } = batchPlan(this.config, "critic");
    return {
      miniBatchRows: samplesPerUpdate,
      microBatch: microBatch === null ? { tokens: critic.ppo_max_token_len_per_gpu } : { rows: microBatch },
      epochs: critic.ppo_epochs,
      shuffle: criticShuffle(this.config, step),
      temperature: 1,
    };
  }
}
