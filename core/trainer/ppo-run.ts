import { AGENT_PARTS, AgentParts } from "../agent/agent-parts.ts";
import type { AdvantageConfig, AdvantageEstimator } from "../algorithm/advantage-estimator.ts";
import { createKlController, type KlController } from "../algorithm/kl-controller.ts";
import type { KlPenalty } from "../algorithm/kl-penalty.ts";
import { resolveKlPenalty } from "../algorithm/straight-through.ts";
import { batchPlan } from "../config/batch-plan.ts";
import type { PpoConfig } from "../config/index.ts";
import { usesCritic } from "../config/uses-critic.ts";
import { WorkerGroup, type GroupOf } from "../controller/worker-group.ts";
import type { Dataset } from "../data/dataset.ts";
import type { DataLoader } from "../data/loader.ts";
import { loadTokenizer } from "../data/load-tokenizer.ts";
import type { Tokenizer } from "../data/tokenizer.ts";
import {
  ABORT_SIGNAL,
  CONFIG,
  createRunContainer,
  LOGGER,
  METRICS,
  registries,
  resolveOptions,
  RNG,
  TOKENIZER,
  type RunContainer,
} from "../registry/index.ts";
import { loadScoreFunctions, SCORE_FUNCTIONS } from "../reward/score-functions.ts";
import { activateBackend, backendWish } from "../tensor/backend.ts";
import { createRng, type Rng } from "../tensor/rng.ts";
import { actorLossParts } from "./actor-loss-parts.ts";
import { StepMetrics } from "./metrics/step-metrics.ts";
import { openData } from "./open-data.ts";
import { checkColumns, checkRun } from "./ppo-checks.ts";
import { checkFields, usesReference } from "./ppo-fields.ts";
import { BYPASS_LOSS, withBypassLoss } from "./rollout-correction.ts";
import { RolloutLog } from "./rollout-log/index.ts";
import { RunConsole } from "./run-console.ts";
import type { TrainerOptions } from "./run-options.ts";
import { RunRecord } from "./run-record.ts";
import { ActorRolloutRefWorker } from "./workers/actor-rollout-ref-worker.ts";
import { CriticWorker } from "./workers/critic-worker.ts";
import { RewardWorker } from "./workers/reward-worker.ts";

/** Takes what plugins report, for the step under way. */
export class RunMetrics {
  step = new StepMetrics();

  add(name: string, value: number): void {
    this.step.add(name, value);
  }
}

/** Everything that a run has before its first step. */
export interface PpoRun {
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
  readonly policy: GroupOf<ActorRolloutRefWorker>;
  readonly reference: GroupOf<ActorRolloutRefWorker> | undefined;
  readonly critic: GroupOf<CriticWorker> | undefined;
  readonly reward: GroupOf<RewardWorker>;
  readonly estimator: AdvantageEstimator;
  readonly advantageConfig: AdvantageConfig;
  readonly klInReward: { penalty: Pick<KlPenalty, "compute">; control: KlController } | undefined;
  /** Batch fields that the actor's loss asks for beyond the usual ones. */
  readonly lossFields: readonly string[];
  /** Aborted when the run is asked to stop after the step under way. */
  readonly stop: AbortSignal;
  /** Aborted at the run's end, whatever ended it; this is what plugins are given. */
  readonly ended: AbortController;
}

/** Reads and checks everything that the run needs, the cheap things first. */
export async function createPpoRun(given: PpoConfig, options: TrainerOptions = {}): Promise<PpoRun> {
  const ended = new AbortController();
  try {
    return await prepare(given, options, ended);
  } catch (error) {
    // What was opened on the way is closed by this.
    ended.abort();
    throw error;
  }
}

async function prepare(given: PpoConfig, options: TrainerOptions, ended: AbortController): Promise<PpoRun> {
  const config = withBypassLoss(given);
  const { data, actor_rollout_ref, algorithm, trainer, custom_reward_function } = config;
  checkRun(config);
  const { extraFields } = actorLossParts(config);
  const adv_kwargs = resolveOptions("adv_estimator", algorithm.adv_estimator, algorithm.adv_kwargs);

  const console = new RunConsole(options);
  const rng = createRng(trainer.seed);
  const metrics = new RunMetrics();
  const { model } = actor_rollout_ref;
  const tokenizer = await loadTokenizer(data.tokenizer ?? model.tokenizer_path ?? model.path, {
    chatTemplate: model.custom_chat_template,
  });
  const { loss_mode } = given.actor_rollout_ref.actor.policy_loss;
  if (config !== given && loss_mode !== "vanilla" && loss_mode !== BYPASS_LOSS)
    console.logger.warn(`algorithm.rollout_correction.bypass_mode has its own losses: "${loss_mode}" is not used.`);
  const container = createRunContainer({
    [CONFIG]: config,
    [LOGGER]: console.logger,
    [RNG]: rng,
    [TOKENIZER]: tokenizer,
    [METRICS]: metrics,
    [ABORT_SIGNAL]: ended.signal,
    [SCORE_FUNCTIONS]: await loadScoreFunctions(custom_reward_function, options.directory ?? process.cwd()),
  });
  const agents = new AgentParts(container, config, console.logger);
  container.bind({ [AGENT_PARTS]: agents });
  ended.signal.addEventListener("abort", () => void agents.close(), { once: true });
  const tools = await agents.promptTools(data.tool_config_path);
  const { train, validation, loader } = await openData(container, config, {
    directory: options.directory ?? process.cwd(),
    tools,
    progress: (work) => console.work(work),
  });
  const columns = Object.keys(train.row(0));
  checkColumns(config, columns);
  checkFields(config, columns);
  const total = trainer.total_training_steps ?? loader.stepsPerEpoch * trainer.total_epochs;

  console.logger.info((await activateBackend(config.tensor_backend, backendWish(config))).note);
  const { ranks, updates } = batchPlan(config);
  if (ranks > 1)
    console.logger.info(`The config counts on ${ranks} ranks. One does the work of all, with the same result.`);
  const length = { steps: total, updatesPerStep: updates };
  const shared = { config, container, agents, tokenizer, rng, log: console.logger, metrics, length };
  const reward = await WorkerGroup.create(RewardWorker, [config, container]);
  const policy = await WorkerGroup.create(ActorRolloutRefWorker, [{ ...shared, role: "actor_rollout" }]);
  const reference = usesReference(config)
    ? await WorkerGroup.create(ActorRolloutRefWorker, [{ ...shared, role: "ref" }])
    : undefined;
  const critic = usesCritic(config)
    ? await WorkerGroup.create(CriticWorker, [{ config, container, steps: total }])
    : undefined;
  return {
    config,
    console,
    container,
    record: new RunRecord({ config, facts: options.facts, keep: trainer.max_actor_ckpt_to_keep, container, console }),
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
    policy,
    reference,
    critic,
    reward,
    estimator: registries.adv_estimator.resolve(algorithm.adv_estimator),
    advantageConfig: { ...algorithm, adv_kwargs },
    klInReward: algorithm.use_kl_in_reward
      ? { penalty: resolveKlPenalty(algorithm.kl_penalty), control: createKlController(algorithm.kl_ctrl) }
      : undefined,
    lossFields: extraFields,
    stop: options.signal ?? new AbortController().signal,
    ended,
  };
}
