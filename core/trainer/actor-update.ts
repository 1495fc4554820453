import type { DataProto } from "../batch/data-proto.ts";
import { alone, type Peers } from "../controller/peers.ts";
import type { TokenLoss, TrainingEngine } from "../engine/training-engine.ts";
import { isVerlError, VerlError } from "../errors/index.ts";
import type { PreparedMiniBatch } from "./loss-preparation.ts";
import { cutMicroBatches, type MicroBatchSize } from "./micro-batches.ts";
import { miniBatches, ROW_FIELD, type MiniBatch, type MiniBatchPlan } from "./mini-batches.ts";
import { sumNumbers } from "./rank-sums.ts";

export interface UpdatePlan extends MiniBatchPlan {
  /** Of one rank. */
  microBatch: MicroBatchSize;
  temperature: number;
}

export interface UpdateOptions {
  /** Before the metrics `loss`, `grad_norm`, `lr` and `skipped_steps`: `actor`, `critic`, `train`. */
  prefix: string;
  /** Makes the loss of a mini-batch, of which it is given this rank's rows: it counts the denominators of all ranks'. */
  makeLoss: (rows: DataProto) => TokenLoss | Promise<TokenLoss>;
  /** Adds fields that depend on the mini-batch as a whole, before its loss is made. */
  prepare?: (miniBatch: MiniBatch) => Promise<PreparedMiniBatch>;
  /** Ranks that train the same model on the other rows. Default: there are none. */
  peers?: Peers;
  /** An error as that of the part of the loss at fault. @param metrics the loss's own. Default: the error as it is. */
  faultOf?: (error: VerlError, metrics: Readonly<Record<string, number>>) => unknown;
}

/**
 * Trains on a batch: mini-batches × epochs, one optimizer step each. The loss of a mini-batch is made for the whole of it, so that its
 * denominators are counted once, however it is cut and on however many ranks it lies.
 * @param batch this rank's rows.
 * @returns the mean over optimizer steps of each metric, the same on every rank; `skipped_steps` counts those that non-finite gradients
 *   prevented.
 */
export async function trainOnBatch(
  engine: TrainingEngine,
  batch: DataProto,
  plan: UpdatePlan,
  { prefix, makeLoss, prepare, peers = alone, faultOf = (error) => error }: UpdateOptions,
): Promise<Record<string, number>> {
  const updates: Record<string, number>[] = [];
  let skippedSteps = 0;
  const sumOverRanks = peers.worldSize > 1 ? (values: Float32Array) => peers.sum(values) : undefined;
  for await (const miniBatch of miniBatches(batch, plan, peers)) {
    const { batch: rows, metrics: ofStep } = prepare
      ? await prepare(miniBatch)
      : { batch: miniBatch.batch, metrics: {} };
    const own = await accumulate(engine, rows, await makeLoss(rows), plan, { prefix, faultOf });
    const sums = await sumNumbers(peers, own);
    if (!Number.isFinite(sums[`${prefix}/loss`] ?? 0)) throw faultOf(notFinite(sums, prefix), sums);
    const { gradNorm, lr, skipped } = await engine.optimStep(sumOverRanks);
    if (skipped) skippedSteps++;
    updates.push({ ...ofStep, ...sums, [`${prefix}/grad_norm`]: gradNorm, [`${prefix}/lr`]: lr });
  }
  return { ...averages(updates), ...(skippedSteps > 0 && { [`${prefix}/skipped_steps`]: skippedSteps }) };
}

/** Adds the gradients of all micro-batches of this rank; the shares of loss and metrics of all ranks' sum to the mini-batch's. */
async function accumulate(
  engine: TrainingEngine,
  miniBatch: DataProto,
  loss: TokenLoss,
  plan: UpdatePlan,
  { prefix, faultOf }: Required<Pick<UpdateOptions, "prefix" | "faultOf">>,
): Promise<Record<string, number>> {
  const sums: Record<string, number> = {};
  for (const micro of cutMicroBatches(miniBatch, plan.microBatch).batches) {
    const share = await backward(engine, micro, loss, { temperature: plan.temperature, faultOf });
    for (const [name, value] of Object.entries({ ...share.metrics, [`${prefix}/loss`]: share.loss })) {
      sums[name] = (sums[name] ?? 0) + value;
    }
  }
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

async function backward(
  engine: TrainingEngine,
  micro: DataProto,
  loss: TokenLoss,
  { temperature, faultOf }: { temperature: number } & Required<Pick<UpdateOptions, "faultOf">>,
): ReturnType<TrainingEngine["forwardBackward"]> {
  try {
    return await engine.forwardBackward(micro, loss, { temperature });
  } catch (error) {
    if (!isVerlError(error)) throw error;
    const told = inRowsOfStep(error, micro);
    const { tensor, metrics = {} } = error.details ?? {};
    throw tensor === undefined ? faultOf(told, metrics as Record<string, number>) : told;
  }
}

/** An engine's error counts the rows of the micro-batch that it was given; people count those of the step. */
function inRowsOfStep(error: VerlError, micro: DataProto): VerlError {
  const { code, message, hint, location, details } = error;
  if (typeof details?.["row"] !== "number") return error;
  const row = micro.tensor(ROW_FIELD, "int32").data[details["row"]]!;
  const more = row === details["row"] ? "" : ` That is row ${row} of the step.`;
  return new VerlError(code, message + more, { hint, location, cause: error, details: { ...details, row } });
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
