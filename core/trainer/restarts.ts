import { counted, isVerlError } from "../errors/index.ts";
import { RunConsole } from "./run-console.ts";
import type { TrainerOptions } from "./run-options.ts";
import type { FitResult, RunRecord } from "./run-record.ts";

/** One time that a run went on after a worker had died. */
export interface Restart {
  /** Why, in words. */
  reason: string;
  /** Steps that had been logged. */
  after_step: number;
  /** Steps that the checkpoint holds from which the run went on; 0 where there was none. */
  resumed_from_step: number;
}

/** What a new attempt at a run is told of those before. */
export interface RestartPoint {
  /** The newest checkpoint that the run wrote or began with; undefined: it begins as it did at first. */
  readonly checkpoint: string | undefined;
  /** The last is the one that made this attempt necessary. */
  readonly restarts: readonly Restart[];
}

/** A run that is ready to train. */
export interface Attempt {
  readonly record: RunRecord;
  /** Trains; its record is closed when it succeeds. */
  fit(): Promise<FitResult>;
  /** Ends its workers, and what plugins have open. */
  close(): Promise<void>;
}

/**
 * Trains, and goes on from the last checkpoint when a worker died. Any other error ends the run, and so does a death once it is asked to stop.
 * @param limit `trainer.max_restarts`. @param open opens the run anew.
 * @throws what ended the last attempt.
 */
export async function fitWithRestarts(
  first: Attempt,
  limit: number,
  open: (point: RestartPoint) => Promise<Attempt>,
  options: TrainerOptions,
): Promise<FitResult> {
  let point: RestartPoint = { checkpoint: undefined, restarts: [] };
  for (let attempt: Attempt | undefined = first; ; attempt = undefined) {
    try {
      attempt ??= await open(point);
      return await attempt.fit();
    } catch (error) {
      const reason = deathIn(error);
      if (reason === undefined || point.restarts.length >= limit || options.signal?.aborted) {
        await attempt?.record.abandon();
        throw error;
      }
      // An attempt that could not be opened has done nothing.
      const { done, saved, checkpoint } = attempt?.record.progress ?? progressOf(point);
      await attempt?.record.release();
      const restart = { reason, after_step: done, resumed_from_step: checkpoint === undefined ? 0 : saved };
      point = { checkpoint, restarts: [...point.restarts, restart] };
      new RunConsole(options).logger.warn(wordsOf(point, limit));
    } finally {
      await attempt?.close();
    }
  }
}

function progressOf({ checkpoint, restarts }: RestartPoint): RunRecord["progress"] {
  const { resumed_from_step: saved } = restarts.at(-1)!;
  return { done: saved, saved, checkpoint };
}

/** What is said of a worker's death, where that is what an error tells of or was caused by. */
function deathIn(error: unknown): string | undefined {
  for (let at = error; at instanceof Error; at = at.cause) {
    if (isVerlError(at) && at.code === "VERL_WORKER_DIED") return at.message;
  }
  return undefined;
}

function wordsOf({ checkpoint, restarts }: RestartPoint, limit: number): string {
  const { reason, after_step, resumed_from_step } = restarts.at(-1)!;
  const again = after_step - resumed_from_step;
  const from =
    checkpoint === undefined ? "the beginning, since there is no checkpoint (trainer.save_freq)" : checkpoint;
  const lost = again > 0 ? `; ${counted(again, "step")} will be done again` : "";
  return `${reason} Restart ${restarts.length} of ${limit} (trainer.max_restarts), from ${from}${lost}.`;
}
