import { DataProto } from "../batch/data-proto.ts";
import { NdArray } from "../batch/nd-array.ts";
import type { TokenLoss, TrainingEngine } from "../engine/training-engine.ts";
import { isVerlError, VerlError } from "../errors/index.ts";
import type { Rng } from "../tensor/rng.ts";
import type { PreparedMiniBatch } from "./loss-preparation.ts";
import { cutMicroBatches, type MicroBatchSize } from "./micro-batches.ts";

/** Number of each row in the batch that a step trains on. It goes where the row goes, so that an error can name it. */
export const ROW_FIELD = "row_of_step";

export interface UpdatePlan {
  /** Rows of one optimizer step. */
  miniBatchRows: number;
  microBatch: MicroBatchSize;
  /** Passes over the batch. */
  epochs: number;
  /** Stream that the rows are shuffled by, anew in each pass; absent: in the batch's order. */
  shuffle?: Rng;
  temperature: number;
}

/**
 * Trains on a batch: mini-batches × epochs, one optimizer step each. The loss of a mini-batch is made for the whole of it, so that its
 * denominators are counted once, however it is cut.
 * @param prepare adds fields that depend on the mini-batch as a whole, before its loss is made.
 * @param prefix of the metrics `loss`, `grad_norm`, `lr` and `skipped_steps`: `actor`, `critic`, `train`.
 * @returns the mean over optimizer steps of each metric; `skipped_steps` counts those that non-finite gradients prevented.
 */
export async function trainOnBatch(
  engine: TrainingEngine,
  batch: DataProto,
  plan: UpdatePlan,
  makeLoss: (miniBatch: DataProto) => TokenLoss,
  prefix: string,
  prepare?: (miniBatch: DataProto) => Promise<PreparedMiniBatch>,
): Promise<Record<string, number>> {
  const updates: Record<string, number>[] = [];
  let skippedSteps = 0;
  const numbers = new NdArray(
    "int32",
    [batch.length],
    Int32Array.from({ length: batch.length }, (_, row) => row),
  );
  const numbered = batch.union(DataProto.fromSingleDict({ [ROW_FIELD]: numbers }));
  for (const rows of numbered.makeIterator(plan.miniBatchRows, { epochs: plan.epochs, shuffle: plan.shuffle })) {
    const { batch: miniBatch, metrics: ofStep } = prepare ? await prepare(rows) : { batch: rows, metrics: {} };
    const metrics = { ...ofStep, ...(await accumulate(engine, miniBatch, makeLoss(miniBatch), plan, prefix)) };
    const { gradNorm, lr, skipped } = await engine.optimStep();
    if (skipped) skippedSteps++;
    updates.push({ ...metrics, [`${prefix}/grad_norm`]: gradNorm, [`${prefix}/lr`]: lr });
  }
  return { ...averages(updates), ...(skippedSteps > 0 && { [`${prefix}/skipped_steps`]: skippedSteps }) };
}

/** Adds the gradients of all micro-batches; their shares of loss and metrics sum to the mini-batch's. */
async function accumulate(
  engine: TrainingEngine,
  miniBatch: DataProto,
  loss: TokenLoss,
  plan: UpdatePlan,
  prefix: string,
): Promise<Record<string, number>> {
  const sums: Record<string, number> = {};
  for (const micro of cutMicroBatches(miniBatch, plan.microBatch).batches) {
    const share = await backward(engine, micro, loss, plan.temperature);
    for (const [name, value] of Object.entries({ ...share.metrics, [`${prefix}/loss`]: share.loss })) {
      sums[name] = (sums[name] ?? 0) + value;
    }
  }
  if (!Number.isFinite(sums[`${prefix}/loss`] ?? 0)) throw notFinite(sums, prefix);
  return sums;
}

function averages(updates: readonly Record<string, number>[]): Record<string, number> {
  const sums = new Map<string, { total: number; count: number }>();
  for (const [name, value] of updates.flatMap((update) => Object.entries(update))) {
    const sum = sums.get(name) ?? { total: 0, count: 0 };
    sums.set(name, { total: sum.total + value, count: sum.count + 1 });
  }
  return Object.fromEntries([...sums].map(([name, { total, count }]) => [name, total / count]));
}

/** An engine's error counts the rows of the micro-batch that it was given; people count those of the step. */
async function backward(
  engine: TrainingEngine,
  micro: DataProto,
  loss: TokenLoss,
  temperature: number,
): ReturnType<TrainingEngine["forwardBackward"]> {
  try {
    return await engine.forwardBackward(micro, loss, { temperature });
  } catch (error) {
    if (!isVerlError(error) || typeof error.details?.["row"] !== "number") throw error;
    const row = micro.tensor(ROW_FIELD, "int32").data[error.details["row"]]!;
    const { code, message, hint, location, details } = error;
    const more = row === error.details["row"] ? "" : ` That is row ${row} of the step.`;
    throw new VerlError(code, message + more, { hint, location, cause: error, details: { ...details, row } });
  }
}

function notFinite(sums: Readonly<Record<string, number>>, prefix: string): VerlError {
  const values = Object.entries(sums).map(([name, value]) => `${name} = ${value}`);
  return new VerlError(
    "VERL_ENGINE_NOT_FINITE",
    `The loss of an optimizer step is ${sums[`${prefix}/loss`]}; the weights were left as they were.`,
    {
      hint: `Its parts: ${values.join(", ")}. A smaller learning rate or a look at the last rollouts may tell why.`,
      details: { ...sums },
    },
  );
}
