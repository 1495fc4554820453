import type { LoopRunner } from "../../agent/loop-runner.ts";
import { countDenominators } from "../../algorithm/aggregate.ts";
import { klPenaltyKey } from "../../algorithm/straight-through.ts";
import { DataProto } from "../../batch/data-proto.ts";
import type { NdArray } from "../../batch/nd-array.ts";
import { batchPlan } from "../../config/batch-plan.ts";
import type { PpoConfig } from "../../config/index.ts";
import type { Listener } from "../../controller/listener.ts";
import { register } from "../../controller/register.ts";
import type { WorkerContext } from "../../controller/worker.ts";
import type { RoleConfig } from "../../engine/role-config.ts";
import type { RolloutEngine } from "../../engine/rollout-engine.ts";
import { VerlError } from "../../errors/index.ts";
import { ROLE_CONFIG } from "../../registry/index.ts";
import { actorLoss, actorLossFields } from "../actor-loss.ts";
import { actorLossFault } from "../actor-loss-fault.ts";
import { actorLossParts } from "../actor-loss-parts.ts";
import { trainOnBatch, type UpdatePlan } from "../actor-update.ts";
import { forwardInParts, type EngineOutput } from "../forward-in-parts.ts";
import { lossPreparation } from "../loss-preparation.ts";
import { microBatchSize } from "../micro-batches.ts";
import { ROW_FIELD } from "../mini-batches.ts";
import { sumDenominators } from "../rank-sums.ts";
import { actorRole, referenceRole, rolloutRole, type TrainingLength } from "../role-configs.ts";
import { openPpoSite, type PpoSite, type SiteOptions } from "../run-site.ts";
import type { RolloutAnswer, RolloutAsk } from "../rollout/rollout-client.ts";
import { RolloutServer } from "../rollout/rollout-server.ts";
import { bucketsOf, type WeightBucket } from "../rollout/weight-buckets.ts";
import { actorShuffle } from "../shuffles.ts";
import { answerPrompts, createLoopRunner, type GenerateOptions } from "./answer-prompts.ts";
import { MODEL_FIELDS, ModelWorker } from "./model-worker.ts";
import type { RunWorkerOptions } from "./run-worker.ts";

export interface ActorRolloutRefOptions extends RunWorkerOptions<PpoConfig> {
  length: TrainingLength;
  /** `actor` trains, `rollout` samples, `actor_rollout` does both; `ref` stays as it was at the start. */
  role: "actor" | "rollout" | "actor_rollout" | "ref";
  /** Agent loops run beside the sampler; false: on ranks of their own. Default: true. */
  loops?: boolean;
}

/** The policy in its roles: trained (actor), sampled from (rollout), kept as it was (ref). */
export class ActorRolloutRefWorker extends ModelWorker<PpoConfig, PpoSite> {
  static override readonly module: string = "verl";

  private readonly role: ActorRolloutRefOptions["role"];
  private readonly length: TrainingLength;
  private readonly runsLoops: boolean;
  private sampler: RolloutEngine | undefined;
  private runner: LoopRunner | undefined;
  private server: RolloutServer | undefined;
  /** What the sampler was told to give back. */
  private readonly asleep = new Set<string>();
  /** Weights on their way to other ranks, and from them. */
  private buckets: readonly WeightBucket[] = [];
  private received = new Map<string, NdArray<"float32">>();

  constructor(context: WorkerContext, options: ActorRolloutRefOptions) {
    super(context, options);
    this.role = options.role;
    this.length = options.length;
    this.runsLoops = options.loops ?? true;
  }

  @register({ dispatchMode: "ONE_TO_ALL" })
  override async initModel(): Promise<void> {
    await super.initModel();
    const site = await this.site();
    const { actor, rollout } = this.config.actor_rollout_ref;
    if (this.role === "actor" || this.role === "actor_rollout") {
      site.container.track("policy_loss", actor.policy_loss.loss_mode);
      site.container.track("loss_agg", actor.loss_agg_mode);
      if (actor.use_kl_loss) site.container.track("kl_penalty", klPenaltyKey(actor.kl_loss_type));
    }
    if (this.role !== "rollout" && this.role !== "actor_rollout") return;
    this.sampler = site.container.create("rollout", rollout.name, {
      options: rollout.engine_kwargs,
      values: { [ROLE_CONFIG]: rolloutRole(this.config) },
    });
    if (this.runsLoops) this.runner = await createLoopRunner(this.config, site, this.sampler);
  }

  /** Answers every row: the batch with verl's rollout fields, without the rows of groups that failed. */
  @register({ dispatchMode: "DP_COMPUTE_PROTO" })
  async generateSequences(prompts: DataProto, options: GenerateOptions): Promise<DataProto> {
    const { runner, config, rank } = this;
    if (!runner) throw misuse("Agent loops were asked for where none run");
    return answerPrompts(runner, { config, rank, rng: (await this.site()).rng }, prompts, options);
  }

  /** Answers requests of agent loops elsewhere. @param answered is told of the answers as they come. */
  @register({ dispatchMode: "ONE_TO_ALL", blocking: false })
  async serveRequests(ask: RolloutAsk, answered: Listener<readonly RolloutAnswer[]>): Promise<void> {
    this.server ??= new RolloutServer(this.rollout());
    await this.server.serve(ask, (answers) => answered.tell(answers));
  }

  /** Log-probs of the current weights, and what else is asked for: each rows × response length. */
  @register({ dispatchMode: "DP_COMPUTE_PROTO" })
  async computeLogProb(batch: DataProto, { outputs }: { outputs: readonly EngineOutput[] }): Promise<DataProto> {
    const { rollout, ref } = this.config.actor_rollout_ref;
    const section = this.role === "ref" ? ref : rollout;
    const size = microBatchSize(
      section.log_prob_micro_batch_size_per_gpu ?? section.log_prob_micro_batch_size,
      section.log_prob_use_dynamic_bsz,
      section.log_prob_max_token_len_per_gpu,
    );
    const rows = batch.select({ batchKeys: MODEL_FIELDS, nonTensorBatchKeys: [], metaInfoKeys: [] });
    return DataProto.fromDict(
      await forwardInParts(this.engine, rows, size, { temperature: trainingTemperature(this.config), outputs }),
    );
  }

  /**
   * Trains on the batch: mini-batches × epochs.
   * @returns means over optimizer steps: `actor/loss`, `actor/pg_loss` (the policy loss alone, as in verl's engine path),
   *   `actor/entropy_loss`, `actor/kl_loss`, `actor/grad_norm`, `actor/lr`, and the loss's own metrics.
   */
  @register({ dispatchMode: "DP_COMPUTE_METRIC" })
  async updateActor(batch: DataProto, { step }: { step: number }): Promise<Record<string, number>> {
    const parts = actorLossParts(this.config);
    const own = batch.unpad();
    const fields = actorLossFields(parts, (field) => own.batch.has(field));
    const rows = own.select({
      batchKeys: [...new Set([...MODEL_FIELDS, ...fields, ...(own.batch.has(ROW_FIELD) ? [ROW_FIELD] : [])])],
      nonTensorBatchKeys: [],
      metaInfoKeys: [],
    });
    const { loss_scale_factor } = this.config.actor_rollout_ref.actor;
    const plan = this.updatePlan(step);
    const metrics = await trainOnBatch(this.engine, rows, plan, {
      prefix: "actor",
      prepare: lossPreparation(this.engine, parts, fields, plan, this.peers),
      peers: this.peers,
      faultOf: (error, reported) => actorLossFault(this.config, error, reported),
      makeLoss: async (miniBatch) => {
        const prepared = [...miniBatch.batch.keys()].filter((field) => field !== ROW_FIELD && !rows.batch.has(field));
        const counted = countDenominators(miniBatch.tensor("response_mask"), loss_scale_factor);
        return actorLoss(parts, [...fields, ...prepared], await sumDenominators(this.peers, counted));
      },
    });
    return parts.kl ? { ...metrics, "actor/kl_coef": parts.kl.coef } : metrics;
  }

  /**
   * Lets the sampler answer: verl's `rollout_mode`. It takes back the memory that `trainerMode` let it give.
   * @param options with `weights`, it is given the trained weights; without, it has them still.
   */
  @register({ dispatchMode: "ONE_TO_ALL" })
  async rolloutMode({ weights }: { weights: boolean }): Promise<void> {
    const rollout = this.rollout();
    const wake = async (tag: string): Promise<void> => {
      if (this.asleep.delete(tag)) await rollout.wake([tag]);
    };
    if (weights) {
      await wake("weights");
      await rollout.updateWeights(await this.engine.exportWeights());
    }
    await wake("kv_cache");
  }

  /**
   * Lets the sampler give back its memory for the training to come, where `rollout.free_cache_engine` says so: verl's `trainer_mode`.
   * @param options with `weights`, its weights go too: `rolloutMode` will bring others.
   */
  @register({ dispatchMode: "ONE_TO_ALL" })
  async trainerMode({ weights }: { weights: boolean }): Promise<void> {
    if (!this.config.actor_rollout_ref.rollout.free_cache_engine) return;
    const tags = weights ? ["weights", "kv_cache"] : ["kv_cache"];
    for (const tag of tags) this.asleep.add(tag);
    await this.rollout().sleep(tags);
  }

  /**
   * A part of the weights, of at most so many bytes unless a single one has more, for a sampler on other ranks.
   * @param index counted from 0, which takes the weights as they are then.
   */
  @register({ dispatchMode: "RANK_ZERO" })
  async exportBucket(index: number, bytes: number): Promise<WeightBucket> {
    if (index === 0) this.buckets = bucketsOf(await this.engine.exportWeights(), bytes);
    const bucket = this.buckets[index];
    if (!bucket) throw misuse(`There is no bucket ${index} of weights`);
    if (bucket.last) this.buckets = [];
    return bucket;
  }

  /** Takes such parts in turn; the last makes the sampler use them. */
  @register({ dispatchMode: "ONE_TO_ALL" })
  async takeBucket({ weights, last }: WeightBucket): Promise<void> {
    for (const [name, array] of weights) this.received.set(name, array);
    if (!last) return;
    const all = this.received;
    this.received = new Map();
    await this.rollout().updateWeights(all);
  }

  override dispose(): void | Promise<void> {
    this.sampler?.dispose();
    return super.dispose();
  }

  protected override openSite(config: PpoConfig, options: SiteOptions): Promise<PpoSite> {
    return openPpoSite(config, options);
  }

  protected override engineChoice(): { key: string; role: RoleConfig } | undefined {
    const { actor, ref } = this.config.actor_rollout_ref;
    if (this.role === "rollout") return undefined;
    return this.role === "ref"
      ? { key: ref.strategy, role: referenceRole(this.config) }
      : { key: actor.strategy, role: actorRole(this.config, this.length) };
  }

  private updatePlan(step: number): UpdatePlan {
    const { actor } = this.config.actor_rollout_ref;
    const { microBatch, samplesPerUpdate } = batchPlan(this.config);
    return {
      miniBatchRows: samplesPerUpdate,
      microBatch: microBatch === null ? { tokens: actor.ppo_max_token_len_per_gpu } : { rows: microBatch },
      epochs: actor.ppo_epochs,
      shuffle: actorShuffle(this.config, step),
      temperature: trainingTemperature(this.config),
    };
  }

  private rollout(): RolloutEngine {
    if (!this.sampler) throw misuse("A policy that does not sample was asked to");
    return this.sampler;
  }
}

const misuse = (what: string): VerlError => new VerlError("VERL_INTERNAL", `${what}.`);

/** Log-probs are taken at the sampling temperature; greedy sampling has none, and is scored as it would be at 1. */
function trainingTemperature({ actor_rollout_ref: { rollout } }: PpoConfig): number {
  return rollout.do_sample && rollout.temperature > 0 ? rollout.temperature : 1;
}
