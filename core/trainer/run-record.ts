import { join } from "node:path";
import { reasonOf } from "../errors/reason-of.ts";
import type { PpoConfig, SftConfig } from "../config/index.ts";
import { freezeRegistries, type RunContainer } from "../registry/index.ts";
import {
  CheckpointManager,
  MODEL_FOLDER,
  type Checkpoint,
  type CheckpointContent,
  type WriteModel,
} from "./checkpoint/index.ts";
import type { FitEnd } from "./fit-loop.ts";
import { closingWords, failureWords } from "./closing-words.ts";
import { configChanges } from "./config-changes.ts";
import { readReportData, summarise, writeReport, writeRunFacts, type RunFacts } from "./report/index.ts";
import { JsonLinesFile } from "./rollout-log/json-lines.ts";
import { ROLLOUTS_FILE } from "./rollout-log/rollout-log.ts";
import { TRACES_FILE } from "./rollout-log/trace-log.ts";
import type { RestartPoint } from "./restarts.ts";
import { RunDirectory } from "./run-directory.ts";
import type { RunConsole } from "./run-console.ts";
import { Trackers } from "./trackers.ts";

type Metrics = Readonly<Record<string, number>>;

/** What came of a run. */
export interface FitResult extends FitEnd {
  total: number;
  /** The last step's metrics. */
  metrics: Metrics;
  /** Results of the last validation; empty when there was none. */
  validation: Metrics;
  /** The run's directory: checkpoints, metrics, rollouts, report. */
  directory: string;
  /** The newest checkpoint that this run wrote or resumed from. */
  checkpoint?: string;
  /** The run's report.html; absent when no step was logged. */
  report?: string;
  /** Times that the run went on after a worker had died; absent where none did. */
  restarts?: number;
  /** Folder of the trained model in the Hugging Face layout, written when the last step was reached. */
  model?: string;
}

export interface RunRecordOptions {
  config: PpoConfig | SftConfig;
  /** Goes to run.json. */
  facts: RunFacts | undefined;
  /** Checkpoints to keep; null: all. */
  keep: number | null;
  container: RunContainer;
  console: RunConsole;
  /** Given where a worker's death ended the attempt before. */
  restart: RestartPoint | undefined;
  /** Asks the run to stop. */
  stop: AbortSignal;
}

/** Closes the registries for the time of a run. @returns opens them again. */
export function freezeFor({ project_name, experiment_name }: RunRecordOptions["config"]["trainer"]): () => void {
  return freezeRegistries(`${project_name}/${experiment_name}`);
}

/** What a run leaves behind: metrics at the trackers, checkpoints, and the closing words. */
export class RunRecord {
  private readonly options: RunRecordOptions;
  private readonly trainer: RunRecordOptions["config"]["trainer"];
  private readonly trackers: Trackers;
  private readonly checkpoints: CheckpointManager;
  private metrics: Metrics = {};
  private validation: Metrics = {};
  private checkpoint: string | undefined;
  private start = 0;
  /** Steps that were logged, and those of them that the newest checkpoint holds. */
  private done = 0;
  private saved = 0;
  private logged = false;
  private directory: RunDirectory | undefined;

  constructor(options: RunRecordOptions) {
    const { config, keep, container, console, stop } = options;
    const { trainer } = config;
    this.options = options;
    this.trainer = trainer;
    this.trackers = Trackers.create(trainer.logger, container, console.logger, stop);
    this.checkpoints = new CheckpointManager({ dir: trainer.default_local_dir, keep, logger: console.logger });
  }

  /**
   * Takes the run's directory and brings it to where the run begins: after the step of a checkpoint, or empty.
   * @param restore takes the state of the checkpoint that `trainer.resume_mode` asks for. What it refuses leaves the directory as it is.
   * @returns steps done before.
   */
  async begin(restore: (checkpoint: Checkpoint) => Promise<void>): Promise<number> {
    const { config, facts, restart } = this.options;
    const { resume_mode, resume_from_path, default_local_dir } = this.trainer;
    this.directory = await RunDirectory.open(default_local_dir, this.options.console.logger);
    const path = restart?.checkpoint ?? (await this.checkpoints.resolveResume(resume_mode, resume_from_path));
    const checkpoint = path === undefined ? undefined : await this.checkpoints.load(path);
    if (checkpoint) await restore(checkpoint);
    if (!checkpoint || !(await this.directory.owns(checkpoint.path))) await this.directory.setAside(config);
    else if (!("val_only" in this.trainer && this.trainer.val_only)) await this.goOnAfter(checkpoint.step);
    const told = facts && { ...facts, ...(restart && { restarts: restart.restarts }) };
    if (told) await this.directory.write(() => writeRunFacts(default_local_dir, told));
    if (checkpoint) this.tellResume(checkpoint);
    return checkpoint?.step ?? 0;
  }

  /** Drops what was logged of steps that are done again. */
  private async goOnAfter(step: number): Promise<void> {
    const files = [ROLLOUTS_FILE, TRACES_FILE].map(
      (name) => new JsonLinesFile(join(this.trainer.default_local_dir, name)),
    );
    await this.directory!.write(async () => {
      await this.checkpoints.pointTo(step);
      for (const file of files) await file.dropAfter(step);
    });
    await this.trackers.resume(step);
  }

  private tellResume({ step, path, parts }: Checkpoint): void {
    const { logger } = this.options.console;
    this.checkpoint = path;
    this.start = this.done = this.saved = step;
    logger.info(`Resuming after step ${step} from ${path}.`);
    const changes = parts.config === undefined ? [] : configChanges(parts.config, this.options.config);
    if (changes.length === 0) return;
    logger.warn(`The config is not the checkpoint's: ${changes.join(", ")}. The run goes on with the new values.`);
  }

  /** Writes a checkpoint. @returns makes it the newest. */
  async save(step: number, parts: CheckpointContent): Promise<() => Promise<void>> {
    const publish = await this.checkpoints.prepare(step, { ...parts, config: this.options.config });
    return async () => {
      this.checkpoint = await publish();
      this.saved = step;
    };
  }

  /** Takes a step's metrics. */
  async log(metrics: Metrics, step: number): Promise<void> {
    this.metrics = this.restarts === 0 ? metrics : { ...metrics, "training/restarts": this.restarts };
    this.logged = true;
    this.done = step;
    await this.trackers.log(this.metrics, step);
    this.options.console.stepDone(step, this.metrics);
  }

  /** Takes metrics of a validation before the first step. */
  async logBefore(metrics: Metrics, step: number): Promise<void> {
    this.logged = true;
    await this.trackers.log(metrics, step);
    this.options.console.show(metrics);
  }

  /** How far the run has come: steps logged, steps that its newest checkpoint holds, and that checkpoint. */
  get progress(): { done: number; saved: number; checkpoint: string | undefined } {
    const { done, saved, checkpoint } = this;
    return { done, saved, checkpoint };
  }

  validated(metrics: Metrics): void {
    this.validation = metrics;
  }

  /** Writes the model where the last step was reached, closes the trackers and says how the run ended. */
  async close(end: FitEnd, total: number, writeModel: WriteModel): Promise<FitResult> {
    const { trainer } = this;
    const { console } = this.options;
    const model = end.step >= total ? join(trainer.default_local_dir, MODEL_FOLDER) : undefined;
    if (model) await this.checkpoints.saveModel(writeModel);
    const { metrics, validation, checkpoint } = this;
    await this.trackers.close();
    console.end();
    const { report, summary } = this.logged ? await this.writeReport() : { summary: [] };
    const result = {
      ...end,
      total,
      metrics,
      validation,
      directory: trainer.default_local_dir,
      checkpoint,
      report,
      ...(this.restarts > 0 && { restarts: this.restarts }),
      model,
    };
    for (const line of [...summary, ...closingWords(result, this.start)]) console.note(line);
    await this.directory?.close();
    return result;
  }

  /** A report that cannot be written spoils no run. */
  private async writeReport(): Promise<{ report?: string; summary: string[] }> {
    const { trainer } = this;
    const { console } = this.options;
    try {
      const data = await readReportData(trainer.default_local_dir);
      return { report: await writeReport(trainer.default_local_dir, data), summary: summarise(data) };
    } catch (error) {
      console.logger.warn(`No report was written: ${reasonOf(error)}`);
      return { summary: [] };
    }
  }

  /** Closes what is open after an error, and says what is left of the run. */
  async abandon(): Promise<void> {
    await this.release();
    const left = failureWords(this.progress);
    if (left) this.options.console.logger.warn(left);
  }

  /** Closes what is open, and says nothing: another attempt follows. */
  async release(): Promise<void> {
    await this.trackers.close();
    this.options.console.end();
    await this.directory?.close();
  }

  private get restarts(): number {
    return this.options.restart?.restarts.length ?? 0;
  }
}
