import type { PpoConfig, SftConfig } from "../config/index.ts";
import { freezeRegistries, type RunContainer } from "../registry/index.ts";
import { CheckpointManager, type Checkpoint, type CheckpointParts } from "./checkpoint/index.ts";
import type { FitEnd } from "./fit-loop.ts";
import { readReportData, summarise, writeReport } from "./report/index.ts";
import type { RunConsole } from "./run-console.ts";
import { Trackers } from "./trackers.ts";

/** Folder of the run's directory that holds the trained model in the Hugging Face layout. */
export const MODEL_FOLDER = "huggingface";

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
  /** Folder of the trained model in the Hugging Face layout, written when the last step was reached. */
  model?: string;
}

export interface RunRecordOptions {
  trainer: PpoConfig["trainer"] | SftConfig["trainer"];
  /** Checkpoints to keep; null: all. */
  keep: number | null;
  container: RunContainer;
  console: RunConsole;
}

/** Closes the registries for the time of a run. @returns opens them again. */
export function freezeFor({ project_name, experiment_name }: RunRecordOptions["trainer"]): () => void {
  return freezeRegistries(`${project_name}/${experiment_name}`);
}

/** What a run leaves behind: metrics at the trackers, checkpoints, and the closing words. */
export class RunRecord {
  private readonly options: RunRecordOptions;
  private readonly trackers: Trackers;
  private readonly checkpoints: CheckpointManager;
  private metrics: Metrics = {};
  private validation: Metrics = {};
  private checkpoint: string | undefined;
  private logged = false;

  constructor(options: RunRecordOptions) {
    const { trainer, keep, container, console } = options;
    this.options = options;
    this.trackers = Trackers.create(trainer.logger, container, console.logger);
    this.checkpoints = new CheckpointManager({ dir: trainer.default_local_dir, keep, logger: console.logger });
  }

  /** The checkpoint that `trainer.resume_mode` asks for, or undefined for a fresh start. */
  async restore(): Promise<Checkpoint | undefined> {
    const { resume_mode, resume_from_path } = this.options.trainer;
    const path = await this.checkpoints.resolveResume(resume_mode, resume_from_path);
    if (path === undefined) return undefined;
    const checkpoint = await this.checkpoints.load(path);
    this.checkpoint = path;
    this.options.console.logger.info(`Resuming after step ${checkpoint.step} from ${path}.`);
    return checkpoint;
  }

  /** Streams of random numbers go on with the config's seed, whatever the checkpoint's was. */
  compareSeed(saved: unknown): void {
    const { trainer, console } = this.options;
    const seed = (saved as { seed?: unknown } | null)?.seed;
    if (seed === trainer.seed) return;
    console.logger.warn(`The checkpoint is of a run with seed ${String(seed)}; this one goes on with ${trainer.seed}.`);
  }

  /** @returns the checkpoint's directory. */
  async save(step: number, parts: CheckpointParts): Promise<string> {
    this.checkpoint = await this.checkpoints.save(step, parts);
    return this.checkpoint;
  }

  /** Takes a step's metrics. */
  async log(metrics: Metrics, step: number): Promise<void> {
    this.metrics = metrics;
    this.logged = true;
    await this.trackers.log(metrics, step);
    this.options.console.stepDone(step, metrics);
  }

  /** Takes metrics of a validation before the first step. */
  async logBefore(metrics: Metrics, step: number): Promise<void> {
    this.logged = true;
    await this.trackers.log(metrics, step);
    this.options.console.show(metrics);
  }

  validated(metrics: Metrics): void {
    this.validation = metrics;
  }

  /** Closes the trackers and says how the run ended. */
  async close(end: FitEnd, total: number, model?: string): Promise<FitResult> {
    const { trainer, console } = this.options;
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
      model,
    };
    for (const line of [...summary, ...closingWords(result)]) console.note(line);
    return result;
  }

  /** A report that cannot be written spoils no run. */
  private async writeReport(): Promise<{ report?: string; summary: string[] }> {
    const { trainer, console } = this.options;
    try {
      const data = await readReportData(trainer.default_local_dir);
      return { report: await writeReport(trainer.default_local_dir, data), summary: summarise(data) };
    } catch (error) {
      console.logger.warn(`No report was written: ${error instanceof Error ? error.message : String(error)}`);
      return { summary: [] };
    }
  }

  /** Closes what is open after an error. */
  async abandon(): Promise<void> {
    await this.trackers.close();
    this.options.console.end();
  }
}

function closingWords({ step, total, interrupted, checkpoint, model, report }: FitResult): string[] {
  const lines = report ? [`Report: ${report}`] : [];
  if (!interrupted) return [`Done: ${step} of ${total} steps.`, ...(model ? [`Model: ${model}`] : []), ...lines];
  const resume = checkpoint
    ? `The last checkpoint is ${checkpoint}; run the same command again to go on from there.`
    : "No checkpoint was written (trainer.save_freq), so the same command starts from the beginning.";
  return [`Stopped after step ${step} of ${total}. ${resume}`, ...lines];
}
