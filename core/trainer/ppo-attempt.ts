import { createKlController } from "../algorithm/kl-controller.ts";
import { DataProto } from "../batch/data-proto.ts";
import type { LoaderState } from "../data/loader.ts";
import { responseLengths } from "../reward/score-batch.ts";
import { sampleGroups } from "./filter-groups.ts";
import type { Checkpoint } from "./checkpoint/index.ts";
import { totalLengths } from "./balance.ts";
import { endsInGrace, LEFT } from "./ends-in-grace.ts";
import { fitLoop, givesUp, type FitEnd } from "./fit-loop.ts";
import { trainDatasetName } from "./open-data.ts";
import { computeDataMetrics, computeThroughputMetrics, computeTimingMetrics } from "./metrics/index.ts";
import { StepMetrics } from "./metrics/step-metrics.ts";
import { checkBatchFields, usesGreedyBaseline } from "./ppo-fields.ts";
import { resampleByScore } from "./pf-ppo-resample.ts";
import { loadRankStates, saveRankStates, trainerStates } from "./rank-states.ts";
import {
  ANSWERS_GRACE_S,
  addAdvantages,
  addOldLogProbs,
  addBalanceMetrics,
  addReferenceLogProbs,
  addValues,
  drawAnswers,
  score,
  untilStopped,
  updateActor,
  updateCritic,
} from "./ppo-phases.ts";
import type { PpoRun } from "./ppo-run.ts";
import { answerValidation, showAnswers, validationMetrics } from "./ppo-validation.ts";
import { addGreedyBaselines } from "./remax-baseline.ts";
import type { Attempt } from "./restarts.ts";
import { freezeFor, type FitResult } from "./run-record.ts";

/** The trainer's own part of a checkpoint. */
interface PpoExtra {
  /** Weight of the KL penalty in the reward, where it is on. */
  klCoefficient?: number;
}

/** One attempt at an RL run, which a worker's death ends. */
export class PpoAttempt implements Attempt {
  private fieldsChecked = false;

  constructor(private readonly run: PpoRun) {}

  get record(): PpoRun["record"] {
    return this.run.record;
  }

  /** Trains to the last step or until asked to stop. */
  async fit(): Promise<FitResult> {
    const { record, total, console, config, stop, validation } = this.run;
    const { val_before_train, val_only } = config.trainer;
    const unfreeze = freezeFor(config.trainer);
    try {
      const start = await record.begin((checkpoint) => this.restore(checkpoint));
      await this.run.sampler.rolloutMode({ weights: true });
      console.begin(total, start);
      // A resumed run has its first validation behind it.
      const first = validation && ((val_before_train && start === 0) || val_only);
      const stopped = first && !stop.aborted ? await this.validateFirst(start) : stop.aborted;
      const end = val_only ? { step: start, interrupted: stopped } : await this.loop(start);
      return await record.close(end, total, (folder) => this.run.policy.savePretrained(folder));
    } finally {
      unfreeze();
    }
  }

  async close(): Promise<void> {
    await Promise.all([this.run.ended.end(), this.run.close()]);
  }

  private loop(start: number): Promise<FitEnd> {
    const { config, record, total, validation, stop } = this.run;
    const { test_freq, save_freq } = config.trainer;
    return fitLoop(
      {
        step: (step, metrics) => this.step(step, metrics),
        validate: (step) => this.validateStep(step),
        save: (step) => this.save(step),
        log: (metrics, step) => record.log(metrics, step),
      },
      { start, total, testFreq: validation ? test_freq : 0, saveFreq: save_freq, stop },
    );
  }

  private async step(step: number, metrics: StepMetrics): Promise<void> {
    const { loader, stop } = this.run;
    this.run.metrics.step = metrics;
    const found = loader.saveState();
    const batch = await metrics
      .timer("step")(() => this.train(step, metrics))
      .catch((error: unknown) => {
        // Given up, its prompts come again in the resumed run.
        if (stop.aborted && error === stop.reason) loader.loadState(found);
        throw error;
      });
    this.addStepMetrics(batch, metrics);
    await this.tellData(batch, step);
  }

  /** One step in verl's order; each phase is timed as `timing_s/<phase>`. */
  private async train(step: number, metrics: StepMetrics): Promise<DataProto> {
    const { run } = this;
    const { sampler, reference, critic } = run;
    const trainsActor = step >= run.config.trainer.critic_warmup;
    const phase = <T>(name: string, work: () => T | Promise<T>): Promise<T> => {
      run.console.phase(name);
      return metrics.timer(name)(work);
    };

    const sampled = run.config.algorithm.filter_groups.enable
      ? await sampleGroups(run, step, metrics, phase)
      : await phase("gen", () => drawAnswers(run, step, metrics));
    metrics.add("training/epoch", sampled.epoch);
    let { batch } = sampled;
    if (usesGreedyBaseline(run.config)) {
      batch = await phase("gen_max", () => addGreedyBaselines(run, sampled.prompts, batch, step, metrics));
    }
    addBalanceMetrics(run, batch, metrics);
    const scoring = async () => {
      const { parts } = sampled;
      if (parts) return { added: new DataProto(), parts };
      const { added, columns } = await phase("reward", () => score(run, batch, sampled.scoring, undefined, metrics));
      return { added, parts: columns.parts };
    };
    const logging = () => phase("old_log_prob", () => addOldLogProbs(run, batch, metrics));
    // A reward manager may ask the policy, so that the sampler is awake until all is scored.
    const sleep = () => metrics.timer("gen")(() => sampler.trainerMode({ weights: trainsActor }));
    const scoreThenLog = async () => {
      const scored = await scoring();
      await sleep();
      return [scored, await logging()] as const;
    };
    const together = run.config.reward_model.launch_reward_fn_async;
    const [scored, logged] = await (together ? Promise.all([scoring(), logging()]) : scoreThenLog());
    if (together) await sleep();
    batch = logged.union(scored.added);
    this.checkFields(batch);
    if (reference) batch = await phase("ref", () => addReferenceLogProbs(run, batch));
    if (critic) batch = await phase("values", () => addValues(run, batch));
    batch = await phase("adv", () => addAdvantages(run, batch, metrics));
    const trained = run.config.algorithm.use_pf_ppo ? resampleByScore(run, batch, step, metrics) : batch;
    if (critic) await phase("update_critic", () => updateCritic(run, trained, step, metrics));
    if (trainsActor) await phase("update_actor", () => updateActor(run, trained, step, metrics));
    const wake = () => sampler.rolloutMode({ weights: trainsActor });
    await (trainsActor ? phase("update_weights", wake) : metrics.timer("gen")(wake));
    await phase("dump_rollout_generations", () => run.rollouts.train(batch, step, scored.parts));
    return batch;
  }

  /** A curriculum orders the prompts to come, and a dataset may add rows, by what came of the step. */
  private async tellData(batch: DataProto, step: number): Promise<void> {
    const { loader, train, stop, console, config } = this.run;
    loader.update(batch);
    if (train.onBatchEnd === undefined) return;
    if (!(await endsInGrace(stop, () => train.onBatchEnd!(batch, step)))) {
      const name = trainDatasetName(config.data);
      const kept = `what it has done by now is what the checkpoint of step ${step} has of it`;
      console.logger.warn(`onBatchEnd of ${name} ${LEFT}: ${kept}.`);
    }
    loader.grow(train.length);
  }

  /** Fields that rewards and agent loops bring are known with the first batch. */
  private checkFields(batch: DataProto): void {
    if (!this.fieldsChecked) checkBatchFields(this.run.config, batch);
    this.fieldsChecked = true;
  }

  private addStepMetrics(batch: DataProto, metrics: StepMetrics): void {
    metrics.addAll(computeDataMetrics(batch));
    metrics.addAll(this.run.train.stats);
    const sum = (lengths: Int32Array): number => lengths.reduce((total, length) => total + length, 0);
    const tokens = { all: sum(totalLengths(batch)), response: sum(responseLengths(batch)) };
    const seconds = metrics.timings();
    metrics.addAll(computeTimingMetrics(seconds, tokens));
    metrics.addAll(computeThroughputMetrics(tokens.all, seconds["step"]!, this.run.modelRanks));
    metrics.add("perf/cpu_memory_used_gb", process.memoryUsage.rss() / 2 ** 30);
  }

  /** Validation of a step that is done, whatever becomes of this. */
  private async validateStep(step: number): Promise<Record<string, number>> {
    const { stop, console } = this.run;
    let metrics: Record<string, number> = {};
    const givenUp = await givesUp(async () => {
      metrics = await untilStopped(this.run, ANSWERS_GRACE_S, (signal) => this.validate(step, signal));
    }, stop);
    if (givenUp) console.logger.warn(`The validation of step ${step} was given up, as the run is asked to stop.`);
    return metrics;
  }

  /** Validation outside a step: a stop gives it up. @returns true when that happened. */
  private async validateFirst(step: number): Promise<boolean> {
    const { record, stop } = this.run;
    return givesUp(async () => record.logBefore(await this.validate(step, stop), step), stop);
  }

  private async validate(step: number, signal: AbortSignal): Promise<Record<string, number>> {
    const { record, rollouts, console, config, tokenizer } = this.run;
    console.phase("validate");
    const reported = new StepMetrics();
    this.run.metrics.step = reported;
    const answers = await answerValidation(this.run, step, reported, signal);
    const metrics = validationMetrics(answers, reported);
    record.validated(metrics);
    await rollouts.validation(answers.batch, step, answers.columns.parts);
    for (const line of showAnswers(answers, config.trainer.log_val_generations, tokenizer)) console.note(line);
    return metrics;
  }

  private async restore({ parts }: Checkpoint): Promise<void> {
    const { console, container, policy, critic, loader, klInReward, config, sites } = this.run;
    const { engines, loader: position, extra } = parts;
    await policy.loadState(engines["actor"]!);
    if (critic && engines["critic"]) await critic.loadState(engines["critic"]);
    else if (critic) console.logger.warn("The checkpoint has no critic: this run's starts from its model.");
    container.loadStates(trainerStates(parts));
    await loadRankStates(sites, parts, console.logger);
    // Rows that were added while training are back now.
    loader.grow(this.run.train.length);
    loader.loadState(position as LoaderState);
    if (klInReward) {
      klInReward.control = createKlController(config.algorithm.kl_ctrl, (extra as PpoExtra).klCoefficient);
    }
  }

  private async save(step: number): Promise<() => Promise<void>> {
    const { record, container, policy, critic, loader, klInReward, config, sites } = this.run;
    const [actor] = await policy.saveState();
    const criticState = critic ? (await critic.saveState())[0] : undefined;
    const extra: PpoExtra = klInReward ? { klCoefficient: klInReward.control.value } : {};
    const wantsModel = (section: { checkpoint: { save_contents: readonly string[] } }): boolean =>
      section.checkpoint.save_contents.includes("hf_model");
    return record.save(step, {
      engines: { actor: actor!, ...(criticState && { critic: criticState }) },
      models: {
        ...(wantsModel(config.actor_rollout_ref.actor) && { actor: (folder) => policy.savePretrained(folder) }),
        ...(critic && wantsModel(config.critic) && { critic: (folder) => critic.savePretrained(folder) }),
      },
      loader: loader.saveState(),
      // Every stream is named by the step that draws from it, so the seed is all of their state.
      rng: { seed: config.trainer.seed },
      plugins: container.saveStates(),
      ...(await saveRankStates(sites)),
      extra,
    });
  }
}
