import type { AdvantageConfig, AdvantageEstimator } from "../algorithm/advantage-estimator.ts";
import { createKlController, type KlController } from "../algorithm/kl-controller.ts";
import type { KlPenalty } from "../algorithm/kl-penalty.ts";
import { klPenaltyKey, resolveKlPenalty } from "../algorithm/straight-through.ts";
import { batchPlan } from "../config/batch-plan.ts";
import type { PpoConfig } from "../config/index.ts";
import type { Dataset } from "../data/dataset.ts";
import type { DataLoader } from "../data/loader.ts";
import type { Tokenizer } from "../data/tokenizer.ts";
import { registries, resolveOptions, type RunContainer } from "../registry/index.ts";
import { activateBackend, backendWish } from "../tensor/backend.ts";
import type { Rng } from "../tensor/rng.ts";
import { actorLossParts } from "./actor-loss-parts.ts";
import { checkAgentRows } from "./check-agent-rows.ts";
import { StepMetrics } from "./metrics/step-metrics.ts";
import { openData } from "./open-data.ts";
import { checkColumns, checkRun } from "./ppo-checks.ts";
import { checkFields } from "./ppo-fields.ts";
import { preparing } from "./preparing.ts";
import { BYPASS_LOSS, withBypassLoss } from "./rollout-correction.ts";
import type { RestartPoint } from "./restarts.ts";
import { RolloutLog } from "./rollout-log/index.ts";
import { RunConsole } from "./run-console.ts";
import { RunEnd } from "./run-end.ts";
import type { TrainerOptions } from "./run-options.ts";
import { RunRecord } from "./run-record.ts";
import { openPpoSite } from "./run-site.ts";
import { tellNoValidation } from "./tell-no-validation.ts";
import { defaultLoopOf } from "./workers/answer-prompts.ts";
import { startPpoGroups, type PpoGroups } from "./worker-groups.ts";

/** Takes what plugins report, for the step under way. */
export class RunMetrics {
  step = new StepMetrics();

  add(name: string, value: number): void {
    this.step.add(name, value);
  }
}

/** Everything that a run has before its first step. */
export interface PpoRun extends PpoGroups {
  readonly config: PpoConfig;
  readonly console: RunConsole;
  readonly record: RunRecord;
  readonly container: RunContainer;
  readonly rollouts: RolloutLog;
  readonly metrics: RunMetrics;
  readonly rng: Rng;
  readonly tokenizer: Tokenizer;
  readonly train: Dataset;
  readonly validation: Dataset | undefined;
  readonly loader: DataLoader;
  /** Steps of the run. */
  readonly total: number;
  readonly estimator: AdvantageEstimator;
  readonly advantageConfig: AdvantageConfig;
  readonly klInReward: { penalty: Pick<KlPenalty, "compute">; control: KlController } | undefined;
  /** Batch fields that the actor's loss asks for beyond the usual ones. */
  readonly lossFields: readonly string[];
  /** Aborted when the run is asked to stop after the step under way. */
  readonly stop: AbortSignal;
  readonly ended: RunEnd;
}

/** Reads and checks everything that the run needs, the cheap things first. */
export async function createPpoRun(
  given: PpoConfig,
  options: TrainerOptions = {},
  restart?: RestartPoint,
): Promise<PpoRun> {
  const ended = new RunEnd();
  return preparing(ended, options.signal, () => prepare(given, options, ended, restart));
}

async function prepare(
  given: PpoConfig,
  options: TrainerOptions,
  ended: RunEnd,
  restart: RestartPoint | undefined,
): Promise<PpoRun> {
  const config = withBypassLoss(given);
  const { data, algorithm, trainer } = config;
  checkRun(config);
  const { extraFields } = actorLossParts(config);
  const adv_kwargs = resolveOptions("adv_estimator", algorithm.adv_estimator, algorithm.adv_kwargs);

  const console = new RunConsole(options);
  const metrics = new RunMetrics();
  const directory = options.directory ?? process.cwd();
  const { loss_mode } = given.actor_rollout_ref.actor.policy_loss;
  if (config !== given && loss_mode !== "vanilla" && loss_mode !== BYPASS_LOSS)
    console.logger.warn(`algorithm.rollout_correction.bypass_mode has its own losses: "${loss_mode}" is not used.`);
  tellNoValidation(config, console.logger);
  const site = await openPpoSite(config, { directory, log: console.logger, metrics, end: ended });
  const { container, tokenizer, rng, agents } = site;
  const defaultLoop = defaultLoopOf(config);
  const tools = await agents.promptTools(data.tool_config_path, defaultLoop);
  const { train, validation, loader } = await openData(container, config, {
    directory,
    tools,
    progress: (work) => console.work(work),
  });
  await checkAgentRows(train, "training", agents, defaultLoop, ended.signal);
  if (validation) await checkAgentRows(validation, "validation", agents, defaultLoop, ended.signal);
  container.track("adv_estimator", algorithm.adv_estimator);
  if (algorithm.use_kl_in_reward) container.track("kl_penalty", klPenaltyKey(algorithm.kl_penalty));
  const columns = Object.keys(train.row(0));
  checkColumns(config, columns);
  checkFields(config, columns);
  const stop = options.signal ?? new AbortController().signal;
  const total = trainer.total_training_steps ?? loader.stepsPerEpoch * trainer.total_epochs;

  console.logger.info((await activateBackend(config.tensor_backend, backendWish(config))).note);
  const length = { steps: total, updatesPerStep: batchPlan(config).updates };
  const groups = await startPpoGroups(config, site, length, { directory, signal: ended.signal });
  return {
    config,
    console,
    container,
    record: new RunRecord({
      config,
      facts: options.facts,
      keep: trainer.max_actor_ckpt_to_keep,
      container,
      console,
      restart,
      stop,
    }),
    rollouts: new RolloutLog({
      runDir: trainer.default_local_dir,
      tokenizer,
      rolloutDataDir: trainer.rollout_data_dir,
      validationDataDir: trainer.validation_data_dir,
    }),
    metrics,
    rng,
    tokenizer,
    train,
    validation,
    loader,
    total,
    ...groups,
    estimator: registries.adv_estimator.resolve(algorithm.adv_estimator),
    advantageConfig: { ...algorithm, adv_kwargs },
    klInReward: algorithm.use_kl_in_reward
      ? { penalty: resolveKlPenalty(algorithm.kl_penalty), control: createKlController(algorithm.kl_ctrl) }
      : undefined,
    lossFields: extraFields,
    stop,
    ended,
  };
}
