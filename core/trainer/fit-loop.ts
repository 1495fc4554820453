import type { Interruption } from "./fit-interruption.ts";
import { StepMetrics } from "./metrics/step-metrics.ts";

type Metrics = Readonly<Record<string, number>>;

/** What a trainer does; the loop decides when. Steps count from 1. */
export interface FitWork {
  /** Trains one step and adds its metrics. */
  step(step: number, metrics: StepMetrics): Promise<void>;
  /** Scores the validation data. */
  validate(step: number): Promise<Metrics>;
  /** Writes a checkpoint of the state after `step`. */
  save(step: number): Promise<void>;
}

/** Where the loop's numbers go. */
export interface FitOutput {
  log(metrics: Metrics, step: number): Promise<void>;
  note(line: string): void;
}

export interface FitPlan {
  /** Steps done before, by the checkpoint that the run resumes from. */
  start: number;
  total: number;
  /** Validate every so many steps, and after the last; 0 or less: never. */
  testFreq: number;
  /** Save every so many steps, and after the last; 0 or less: never. */
  saveFreq: number;
}

export interface FitEnd {
  /** Steps done. */
  step: number;
  /** True when the run was asked to stop before its last step. */
  interrupted: boolean;
}

/**
 * Steps, validates and saves until the last step or until asked to stop. Asked once, the step under way is finished and saved (where
 * saving is on); asked twice, it is abandoned and the last checkpoint stands.
 */
export async function fitLoop(
  work: FitWork,
  plan: FitPlan,
  output: FitOutput,
  interruption: Interruption,
): Promise<FitEnd> {
  let done = plan.start;
  try {
    while (done < plan.total && !interruption.requested) {
      const step = done + 1;
      const metrics = new StepMetrics();
      await work.step(step, metrics);
      const last = step === plan.total;
      if (!interruption.requested && due(plan.testFreq, step, last)) {
        metrics.addAll(await metrics.timer("testing")(() => work.validate(step)));
      }
      if (due(plan.saveFreq, step, last || interruption.requested)) {
        await metrics.timer("save_checkpoint")(() => work.save(step));
      }
      metrics.add("training/global_step", step);
      await output.log(metrics.finish(), step);
      done = step;
    }
  } catch (error) {
    // An abandoned step fails wherever it was; that is no error of its own.
    if (!interruption.signal.aborted) throw error;
    output.note(`Step ${done + 1} was abandoned.`);
  }
  return { step: done, interrupted: interruption.requested && done < plan.total };
}

function due(frequency: number, step: number, always: boolean): boolean {
  return frequency > 0 && (always || step % frequency === 0);
}
