import { StepMetrics } from "./metrics/step-metrics.ts";

type Metrics = Readonly<Record<string, number>>;

/** What a trainer does; the loop decides when. Steps count from 1. */
export interface FitWork {
  /** Trains one step and adds its metrics. Throwing the reason of `stop`, it gives the step up as if it had not begun. */
  step(step: number, metrics: StepMetrics): Promise<void>;
  /** Scores the validation data. */
  validate(step: number): Promise<Metrics>;
  /** Writes a checkpoint of the state after `step`. */
  save(step: number): Promise<void>;
  /** Takes the step's metrics. */
  log(metrics: Metrics, step: number): Promise<void>;
}

export interface FitPlan {
  /** Steps done before, by the checkpoint that the run resumes from. */
  start: number;
  total: number;
  /** Validate every so many steps, and after the last; 0 or less: never. */
  testFreq: number;
  /** Save every so many steps, and after the last; 0 or less: never. */
  saveFreq: number;
  /** Aborted: the step under way is finished and, where saving is on, saved; it is the last, and it is not validated. */
  stop: AbortSignal;
}

export interface FitEnd {
  /** Steps done. */
  step: number;
  /** True when the run was asked to stop before its last step. */
  interrupted: boolean;
}

/** Steps, validates and saves until the last step or until asked to stop. */
export async function fitLoop(work: FitWork, { start, total, testFreq, saveFreq, stop }: FitPlan): Promise<FitEnd> {
  let done = start;
  while (done < total && !stop.aborted) {
    const step = done + 1;
    const metrics = new StepMetrics();
    if (!(await finishes(() => work.step(step, metrics), stop))) {
      // A stop saves what was done, unless that has been saved.
      if (saveFreq > 0 && done > start && !due(saveFreq, done, false)) await work.save(done);
      break;
    }
    const last = step === total;
    if (!stop.aborted && due(testFreq, step, last)) {
      metrics.addAll(await metrics.timer("testing")(() => work.validate(step)));
    }
    if (due(saveFreq, step, last || stop.aborted)) await metrics.timer("save_checkpoint")(() => work.save(step));
    metrics.add("training/global_step", step);
    await work.log(metrics.finish(), step);
    done = step;
  }
  return { step: done, interrupted: done < total };
}

/** False when the work gave up because it was asked to stop. */
async function finishes(work: () => Promise<void>, stop: AbortSignal): Promise<boolean> {
  try {
    await work();
    return true;
  } catch (error) {
    if (stop.aborted && error === stop.reason) return false;
    throw error;
  }
}

function due(frequency: number, step: number, always: boolean): boolean {
  return frequency > 0 && (always || step % frequency === 0);
}
