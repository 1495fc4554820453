import { LoopRunner } from "../../agent/loop-runner.ts";
import { countDenominators } from "../../algorithm/aggregate.ts";
import { klPenaltyKey } from "../../algorithm/straight-through.ts";
import { DataProto } from "../../batch/data-proto.ts";
import { batchPlan } from "../../config/batch-plan.ts";
import type { PpoConfig } from "../../config/index.ts";
import type { Listener } from "../../controller/listener.ts";
import { register } from "../../controller/register.ts";
import type { WorkerContext } from "../../controller/worker.ts";
import type { RoleConfig } from "../../engine/role-config.ts";
import type { RolloutEngine, SamplingParams } from "../../engine/rollout-engine.ts";
import { VerlError } from "../../errors/index.ts";
import { ROLE_CONFIG, ROLLOUT } from "../../registry/index.ts";
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
import { openTracer } from "../rollout-log/open-tracer.ts";
import { actorShuffle } from "../shuffles.ts";
import { MODEL_FIELDS, ModelWorker } from "./model-worker.ts";
import type { RunWorkerOptions } from "./run-worker.ts";

export interface ActorRolloutRefOptions extends RunWorkerOptions<PpoConfig> {
  length: TrainingLength;
  /** `actor_rollout` trains and samples; `ref` stays as it was at the start. */
  role: "actor_rollout" | "ref";
}

/** Among the metrics of `generateSequences`: the rows that a rank answered, by which means of ranks are weighed. */
export const ROWS = "rows";

export interface GenerateOptions {
  step: number;
  /** Number of the step's batch of answers. Default: 1. */
  round?: number;
  validate: boolean;
  /** Training answers at temperature 0, whatever the config samples by. */
  greedy?: boolean;
  signal: AbortSignal;
  /** Told of each answer as its trajectory ends: a batch of one row, as the whole batch will have it. Its group may still be dropped. */
  answered?: Listener<DataProto>;
}

interface Sampler {
  rollout: RolloutEngine;
  runner: LoopRunner;
}

/** The policy in its roles: trained (actor), sampled from (rollout), kept as it was (ref). */
export class ActorRolloutRefWorker extends ModelWorker<PpoConfig, PpoSite> {
  static override readonly module: string = "verl";

  private readonly role: ActorRolloutRefOptions["role"];
  private readonly length: TrainingLength;
  private sampler: Sampler | undefined;

  constructor(context: WorkerContext, options: ActorRolloutRefOptions) {
    super(context, options);
    this.role = options.role;
    this.length = options.length;
  }

  @register({ dispatchMode: "ONE_TO_ALL" })
  override async initModel(): Promise<void> {
    await super.initModel();
    if (this.role === "ref") return;
    const site = await this.site();
    const { policy_loss, loss_agg_mode, use_kl_loss, kl_loss_type } = this.config.actor_rollout_ref.actor;
    site.container.track("policy_loss", policy_loss.loss_mode);
    site.container.track("loss_agg", loss_agg_mode);
    if (use_kl_loss) site.container.track("kl_penalty", klPenaltyKey(kl_loss_type));
    this.sampler = await createSampler(this.config, site);
  }

  /** Answers every row: the batch with verl's rollout fields, without the rows of groups that failed. */
  @register({ dispatchMode: "DP_COMPUTE_PROTO" })
  async generateSequences(
    prompts: DataProto,
    { step, round = 1, validate, greedy = false, signal, answered }: GenerateOptions,
  ): Promise<DataProto> {
    const { config } = this;
    const sampling = samplingParams(config, validate);
    const purpose = validate ? "validation" : greedy ? "greedy" : "rollout";
    const { rng } = await this.site();
    const own = rng.stream(`${purpose}/${step}${round > 1 ? `.${round}` : ""}/0`);
    // Each row draws its seed in turn, so that it has the same one on any number of ranks: those of the ranks before are passed over.
    for (let before = this.rank * prompts.length; before > 0; before--) own.nextU32();
    const { batch, metrics } = await this.sampling().runner.run(prompts.unpad(), {
      sampling: greedy ? { ...sampling, temperature: 0 } : sampling,
      rng: own,
      validate,
      signal,
      step,
      onTrajectory: answered && ((row) => answered.tell(row)),
    });
    return batch.union(new DataProto({ metaInfo: { metrics: { ...metrics, [ROWS]: batch.length } } }), "replace");
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

  /** Gives the trained weights to the sampler. */
  @register({ dispatchMode: "ONE_TO_ALL" })
  async updateWeights(): Promise<void> {
    await this.sampling().rollout.updateWeights(await this.engine.exportWeights());
  }

  override dispose(): void | Promise<void> {
    this.sampler?.rollout.dispose();
    return super.dispose();
  }

  protected override openSite(config: PpoConfig, options: SiteOptions): Promise<PpoSite> {
    return openPpoSite(config, options);
  }

  protected override engineChoice(): { key: string; role: RoleConfig } {
    const { actor, ref } = this.config.actor_rollout_ref;
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

  private sampling(): Sampler {
    if (!this.sampler) throw new VerlError("VERL_INTERNAL", "A policy that does not sample was asked to.");
    return this.sampler;
  }
}

async function createSampler(config: PpoConfig, site: PpoSite): Promise<Sampler> {
  const { container, agents, tokenizer, log, metrics } = site;
  const { rollout: section } = config.actor_rollout_ref;
  const rollout = container.create("rollout", section.name, {
    options: section.engine_kwargs,
    values: { [ROLE_CONFIG]: rolloutRole(config) },
  });
  container.bind({ [ROLLOUT]: rollout });
  const runner = new LoopRunner({
    rollout,
    createLoop: (key) => agents.createLoop(key),
    defaultLoop: section.agent.default_agent_loop ?? (section.multi_turn.enable ? "tool_agent" : "single_turn_agent"),
    promptLength: section.prompt_length,
    responseLength: section.response_length,
    padTokenId: tokenizer.padTokenId,
    maxConcurrent: section.agent.max_concurrent,
    maxRetries: section.agent.max_retries,
    timeout: section.agent.sample_timeout_s,
    log,
    metrics,
    tracer: await openTracer(config, site),
  });
  return { rollout, runner };
}

/** Sampling of training answers, or by `val_kwargs` of validation answers. */
function samplingParams(config: PpoConfig, validate: boolean): Omit<SamplingParams, "seed" | "max_tokens"> {
  const { rollout } = config.actor_rollout_ref;
  const { temperature, top_k, top_p, do_sample } = validate ? rollout.val_kwargs : rollout;
  return {
    temperature: do_sample ? temperature : 0,
    top_k,
    top_p,
    // Engines stop at the end token by themselves, unless `ignore_eos`.
    stop_token_ids: [],
    ignore_eos: rollout.ignore_eos,
  };
}

/** Log-probs are taken at the sampling temperature; greedy sampling has none, and is scored as it would be at 1. */
function trainingTemperature({ actor_rollout_ref: { rollout } }: PpoConfig): number {
  return rollout.do_sample && rollout.temperature > 0 ? rollout.temperature : 1;
}
