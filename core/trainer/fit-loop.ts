import { setImmediate as turn } from "node:timers/promises";
import { StepMetrics } from "./metrics/step-metrics.ts";

type Metrics = Readonly<Record<string, number>>;

/** What a trainer does; the loop decides when. Steps count from 1. */
export interface FitWork {
  /** Trains one step and adds its metrics. Throwing the reason of `stop`, it gives the step up as if it had not begun. */
  step(step: number, metrics: StepMetrics): Promise<void>;
  /** Scores the validation data. */
  validate(step: number): Promise<Metrics>;
  /** Writes a checkpoint of the state after `step`. @returns makes it the newest; until then the one before counts. */
  save(step: number): Promise<() => Promise<void>>;
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
  /** Aborted: the step under way is the last. It is finished or given up; where saving is on, the last finished one is saved. */
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
  let saved = start;
  while (done < total) {
    // Steps may wait for nothing outside this thread: signals are heard in between.
    await turn();
    if (stop.aborted) break;
    const step = done + 1;
    const last = step === total;
    const metrics = new StepMetrics();
    if (await givesUp(() => work.step(step, metrics), stop)) break;
    if (due(testFreq, step, last)) metrics.addAll(await metrics.timer("testing")(() => work.validate(step)));
    const publish = due(saveFreq, step, last)
      ? await metrics.timer("save_checkpoint")(() => work.save(step))
      : undefined;
    metrics.add("training/global_step", step);
    // A checkpoint counts only once its step is logged: a kill in between repeats the step and loses no metrics.
    await work.log(metrics.finish(), step);
    done = step;
    await publish?.();
    if (publish) saved = step;
  }
  if (saveFreq > 0 && saved < done) await (await work.save(done))();
  return { step: done, interrupted: done < total };
}

/** True when the work gave up because it was asked to stop; any other error is thrown. */
export async function givesUp(work: () => Promise<void>, stop: AbortSignal): Promise<boolean> {
  try {
    await work();
    return false;
  } catch (error) {
    if (stop.aborted && error === stop.reason) return true;
    throw error;
  }
}

function due(frequency: number, step: number, always: boolean): boolean {
  return frequency > 0 && (always || step % frequency === 0);
}
