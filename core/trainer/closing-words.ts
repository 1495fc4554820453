import { counted } from "../errors/index.ts";
import type { FitResult } from "./run-record.ts";

/** How a run ended, in lines for the terminal. @param start steps done before it began. */
export function closingWords(result: FitResult, start: number): string[] {
  const { model, report } = result;
  return [
    ending(result, start),
    ...(model && !result.interrupted ? [`Model: ${model}`] : []),
    ...(report ? [`Report: ${report}`] : []),
  ];
}

function ending({ step, total, interrupted, checkpoint, validation, restarts = 0 }: FitResult, start: number): string {
  if (!interrupted) {
    if (step === start && Object.keys(validation).length > 0)
      return `Validated the model of step ${step}; trainer.val_only trains none.`;
    return start < total
      ? `Done: ${step} of ${counted(total, "step")}${restarts === 0 ? "" : `, after ${counted(restarts, "restart")}`}.`
      : `Nothing was left to do: the checkpoint is of step ${start}, and the run has ${counted(total, "step")}.`;
  }
  const stopped = step === 0 ? "Stopped before the first step" : `Stopped after step ${step} of ${total}`;
  if (checkpoint)
    return `${stopped}. The last checkpoint is ${checkpoint}; run the same command again to go on from there.`;
  const unsaved = step === 0 ? ";" : ". No checkpoint was written (trainer.save_freq), so";
  return `${stopped}${unsaved} the same command starts from the beginning.`;
}

/** What an error leaves of a run, in a line; undefined where no step was done. @param saved steps that `checkpoint` holds. */
export function failureWords(run: { done: number; saved: number; checkpoint: string | undefined }): string | undefined {
  const { done, saved, checkpoint } = run;
  if (done === 0 && checkpoint === undefined) return undefined;
  if (checkpoint === undefined)
    return `Failed after step ${done}. No checkpoint was written (trainer.save_freq), so the same command starts from the beginning.`;
  const lost = done - saved;
  const again = lost > 0 ? `; ${counted(lost, "step")} after it will be done again` : "";
  return `Failed after step ${done}. The last checkpoint is ${checkpoint}${again}. The same command goes on from there.`;
}
