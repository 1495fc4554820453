import type { AgentParts } from "../../agent/agent-parts.ts";
import { LoopRunner } from "../../agent/loop-runner.ts";
import { countDenominators } from "../../algorithm/aggregate.ts";
import { DataProto } from "../../batch/data-proto.ts";
import { batchPlan } from "../../config/batch-plan.ts";
import type { PpoConfig } from "../../config/index.ts";
import { register } from "../../controller/register.ts";
import type { WorkerContext } from "../../controller/worker.ts";
import type { Tokenizer } from "../../data/tokenizer.ts";
import type { RolloutEngine, SamplingParams } from "../../engine/rollout-engine.ts";
import { VerlError } from "../../errors/index.ts";
import { ROLE_CONFIG, ROLLOUT, type Logger, type MetricsSink, type RunContainer } from "../../registry/index.ts";
import { createRng, type Rng } from "../../tensor/rng.ts";
import { actorLoss, actorLossFields, type ActorLossParts } from "../actor-loss.ts";
import { actorLossParts } from "../actor-loss-parts.ts";
import { ROW_FIELD, trainOnBatch, type UpdatePlan } from "../actor-update.ts";
import { forwardInParts, type EngineOutput } from "../forward-in-parts.ts";
import { lossPreparation } from "../loss-preparation.ts";
import { microBatchSize } from "../micro-batches.ts";
import { actorRole, referenceRole, rolloutRole, type TrainingLength } from "../role-configs.ts";
import { MODEL_FIELDS, ModelWorker } from "./model-worker.ts";

export interface ActorRolloutRefOptions {
  config: PpoConfig;
  container: RunContainer;
  agents: AgentParts;
  tokenizer: Tokenizer;
  rng: Rng;
  log: Logger;
  metrics: MetricsSink;
  length: TrainingLength;
  /** `actor_rollout` trains and samples; `ref` stays as it was at the start. */
  role: "actor_rollout" | "ref";
}

export interface GenerateOptions {
  step: number;
  /** Number of the step's batch of answers. Default: 1. */
  round?: number;
  validate: boolean;
  /** Training answers at temperature 0, whatever the config samples by. */
  greedy?: boolean;
  signal: AbortSignal;
}

/** The policy in its roles: trained (actor), sampled from (rollout), kept as it was (ref). */
export class ActorRolloutRefWorker extends ModelWorker {
  private readonly options: ActorRolloutRefOptions;
  private readonly sampler: { rollout: RolloutEngine; runner: LoopRunner } | undefined;
  private readonly loss: ActorLossParts | undefined;

  constructor(context: WorkerContext, options: ActorRolloutRefOptions) {
    const { config, container, role, length } = options;
    const { actor, ref } = config.actor_rollout_ref;
    const isRef = role === "ref";
    const roleConfig = isRef ? referenceRole(config) : actorRole(config, length);
    super(
      context,
      container.create("engine", isRef ? ref.strategy : actor.strategy, { values: { [ROLE_CONFIG]: roleConfig } }),
    );
    this.options = options;
    if (isRef) return;
    this.sampler = createSampler(options);
    this.loss = actorLossParts(config);
  }

  /** Answers every row: the batch with verl's rollout fields, without the rows of groups that failed. */
  @register({ dispatchMode: "DP_COMPUTE_PROTO" })
  async generateSequences(
    prompts: DataProto,
    { step, round = 1, validate, greedy = false, signal }: GenerateOptions,
  ): Promise<DataProto> {
    const { config, rng } = this.options;
    const sampling = samplingParams(config, validate);
    const purpose = validate ? "validation" : greedy ? "greedy" : "rollout";
    const { batch, metrics } = await this.sampling().runner.run(prompts, {
      sampling: greedy ? { ...sampling, temperature: 0 } : sampling,
      rng: rng.stream(`${purpose}/${step}${round > 1 ? `.${round}` : ""}/${this.rank}`),
      validate,
      signal,
    });
    return batch.union(new DataProto({ metaInfo: { metrics } }), "replace");
  }

  /** Log-probs of the current weights, and what else is asked for: each rows × response length. */
  @register({ dispatchMode: "DP_COMPUTE_PROTO" })
  async computeLogProb(batch: DataProto, { outputs }: { outputs: readonly EngineOutput[] }): Promise<DataProto> {
    const { rollout, ref } = this.options.config.actor_rollout_ref;
    const section = this.options.role === "ref" ? ref : rollout;
    const size = microBatchSize(
      section.log_prob_micro_batch_size_per_gpu ?? section.log_prob_micro_batch_size,
      section.log_prob_use_dynamic_bsz,
      section.log_prob_max_token_len_per_gpu,
    );
    const rows = batch.select({ batchKeys: MODEL_FIELDS, nonTensorBatchKeys: [], metaInfoKeys: [] });
    return DataProto.fromDict(
      await forwardInParts(this.engine, rows, size, { temperature: trainingTemperature(this.options.config), outputs }),
    );
  }

  /**
   * Trains on the batch: mini-batches × epochs.
   * @returns means over optimizer steps: `actor/loss`, `actor/pg_loss` (the policy loss alone, as in verl's engine path),
   *   `actor/entropy_loss`, `actor/kl_loss`, `actor/grad_norm`, `actor/lr`, and the loss's own metrics.
   */
  @register({ dispatchMode: "DP_COMPUTE_METRIC" })
  async updateActor(batch: DataProto, { step }: { step: number }): Promise<Record<string, number>> {
    const parts = this.loss!;
    const fields = actorLossFields(parts, (field) => batch.batch.has(field));
    const rows = batch.select({
      batchKeys: [...new Set([...MODEL_FIELDS, ...fields])],
      nonTensorBatchKeys: [],
      metaInfoKeys: [],
    });
    const { loss_scale_factor } = this.options.config.actor_rollout_ref.actor;
    const makeLoss = (miniBatch: DataProto) => {
      const prepared = [...miniBatch.batch.keys()].filter((field) => field !== ROW_FIELD && !rows.batch.has(field));
      const denominators = countDenominators(miniBatch.tensor("response_mask"), loss_scale_factor);
      return actorLoss(parts, [...fields, ...prepared], denominators);
    };
    const plan = this.updatePlan(step);
    const prepare = lossPreparation(this.engine, parts, fields, plan);
    const metrics = await trainOnBatch(this.engine, rows, plan, makeLoss, "actor", prepare);
    return parts.kl ? { ...metrics, "actor/kl_coef": parts.kl.coef } : metrics;
  }

  /** Gives the trained weights to the sampler. */
  @register({ dispatchMode: "ONE_TO_ALL" })
  async updateWeights(): Promise<void> {
    await this.sampling().rollout.updateWeights(await this.engine.exportWeights());
  }

  override dispose(): void {
    this.sampler?.rollout.dispose();
    super.dispose();
  }

  private updatePlan(step: number): UpdatePlan {
    const { config } = this.options;
    const { actor, rollout } = config.actor_rollout_ref;
    const { microBatch } = batchPlan(config);
    return {
      miniBatchRows: Math.ceil((actor.ppo_mini_batch_size * rollout.n) / this.worldSize),
      microBatch: microBatch === null ? { tokens: actor.ppo_max_token_len_per_gpu } : { rows: microBatch },
      epochs: actor.ppo_epochs,
      shuffle: actor.shuffle ? createRng(actor.data_loader_seed).stream(`mini_batches/${step}`) : undefined,
      temperature: trainingTemperature(config),
    };
  }

  private sampling(): { rollout: RolloutEngine; runner: LoopRunner } {
    if (!this.sampler) throw new VerlError("VERL_INTERNAL", "The reference policy was asked to sample.");
    return this.sampler;
  }
}

function createSampler(options: ActorRolloutRefOptions): { rollout: RolloutEngine; runner: LoopRunner } {
  const { config, container, agents, tokenizer, log, metrics } = options;
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
