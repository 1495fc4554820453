import type { DataProto } from "../batch/data-proto.ts";
import { VerlError } from "../errors/verl-error.ts";
import type { Sampler } from "./dataset.ts";

/** One batch of row numbers. */
export interface LoadedBatch {
  indices: Int32Array;
  /** Epoch the batch belongs to, from 0. */
  epoch: number;
  /** True for the last batch of its epoch. */
  endsEpoch: boolean;
}

/** Where a loader stands: plain JSON for the checkpoint. */
export interface LoaderState {
  epoch: number;
  /** Rows of that epoch which were handed out. */
  position: number;
  /** Rows of the dataset, so that resuming on other data is noticed. */
  length: number;
  /** Rows of the epoch, where the dataset has grown since it began. */
  epochLength?: number;
  /** The rows still to come, in order, where a curriculum has changed it. */
  rest?: number[];
  sampler: unknown;
}

export interface DataLoaderOptions {
  /** Rows of the dataset. */
  length: number;
  batchSize: number;
  sampler: Sampler;
  /** Leave out the rest of an epoch that fills no whole batch. Default: true. */
  dropLast?: boolean;
}

/**
 * Hands out row numbers batch by batch, epoch after epoch, without end: the caller counts steps. After `loadState` the next batch
 * is the very one that would have come, at an epoch's boundary too.
 */
export class DataLoader {
  private readonly batchSize: number;
  private readonly sampler: Sampler;
  private readonly dropLast: boolean;
  /** Rows of the dataset. */
  private length: number;
  /** Rows of the epoch under way. */
  private epochLength: number;
  private epoch = 0;
  private position = 0;
  private order: Int32Array | undefined;
  /** Whether the order is no longer what the sampler gave for the epoch. */
  private reordered = false;

  /** @throws VerlError VERL_DATA_EMPTY when the dataset does not fill one batch. */
  constructor({ length, batchSize, sampler, dropLast = true }: DataLoaderOptions) {
    this.batchSize = batchSize;
    this.sampler = sampler;
    this.dropLast = dropLast;
    this.length = this.epochLength = length;
    if (this.stepsPerEpoch > 0) return;
    if (length === 0) {
      throw new VerlError("VERL_DATA_EMPTY", "The dataset has no rows.", {
        location: { path: "data.train_files" },
        hint: "Check data.train_files and data.train_max_samples, or the dataset that data.dataset names.",
      });
    }
    throw new VerlError("VERL_DATA_EMPTY", `The dataset has ${length} rows, fewer than one batch of ${batchSize}.`, {
      location: { path: "data.train_batch_size" },
      hint: `Set data.train_batch_size to at most ${length}, or add rows.`,
    });
  }

  /** Batches of an epoch of all rows that there are now. */
  get stepsPerEpoch(): number {
    return this.dropLast ? Math.floor(this.length / this.batchSize) : Math.ceil(this.length / this.batchSize);
  }

  next(): LoadedBatch {
    if (this.left() === 0) {
      this.epoch += 1;
      this.position = 0;
      this.order = undefined;
      this.reordered = false;
      this.epochLength = this.length;
    }
    this.order ??= this.drawOrder();
    const end = Math.min(this.position + this.batchSize, this.epochLength);
    const indices = this.order.slice(this.position, end);
    this.position = end;
    return { indices, epoch: this.epoch, endsEpoch: this.left() === 0 };
  }

  /**
   * Tells a curriculum what came of a step; it may order the rest of the epoch anew.
   * @throws VerlError VERL_DATA_SAMPLER when it leaves out or repeats a row.
   */
  update(batch: DataProto): void {
    const { sampler } = this;
    if (sampler.update === undefined) return;
    sampler.update(batch);
    if (sampler.reorder === undefined || this.order === undefined) return;
    const rest = this.order.slice(this.position);
    const wanted = sampler.reorder(rest.slice());
    this.requireSame(rest, wanted, "reordered");
    this.order.set(wanted, this.position);
    this.reordered = true;
  }

  /** The dataset has more rows now; they are drawn from the next epoch on. */
  grow(length: number): void {
    if (length < this.length) throw new RangeError(`The dataset had ${this.length} rows and has ${length} now.`);
    this.length = length;
  }

  saveState(): LoaderState {
    const { epoch, position, length, epochLength, order, sampler } = this;
    return {
      epoch,
      position,
      length,
      ...(epochLength !== length && { epochLength }),
      ...(this.reordered && { rest: Array.from(order!.subarray(position)) }),
      sampler: sampler.saveState(),
    };
  }

  /** @throws VerlError VERL_DATA_LOADER_STATE when the state is broken or of a dataset of another size. */
  loadState(state: LoaderState): void {
    const { epoch, position, length, epochLength = length, rest } = state;
    const inRange =
      [epoch, position, epochLength].every((value) => Number.isInteger(value) && value >= 0) &&
      position <= epochLength &&
      epochLength <= length &&
      (rest === undefined || (Array.isArray(rest) && rest.length === epochLength - position));
    if (!inRange || length !== this.length) {
      throw new VerlError(
        "VERL_DATA_LOADER_STATE",
        `The saved position (epoch ${epoch}, row ${position} of ${length}) does not fit the dataset of ${this.length} rows.`,
        {
          hint: "Resume with the files and filters of the interrupted run, or start anew with trainer.resume_mode=disable.",
        },
      );
    }
    this.sampler.loadState(state.sampler);
    Object.assign(this, { epoch, position, epochLength, order: undefined, reordered: rest !== undefined });
    if (rest !== undefined) {
      this.order = new Int32Array(epochLength);
      this.order.set(rest, position);
    }
  }

  /** @throws VerlError VERL_DATA_SAMPLER when the sampler leaves out or repeats a row. */
  private drawOrder(): Int32Array {
    const order = this.sampler.order(this.epoch, this.epochLength);
    this.requireSame(
      Int32Array.from({ length: this.epochLength }, (_, row) => row),
      order,
      "ordered",
    );
    return order;
  }

  private requireSame(rows: Int32Array, order: Int32Array, done: string): void {
    const open = new Uint8Array(this.epochLength);
    for (const row of rows) open[row] = 1;
    let taken = 0;
    for (const row of order) {
      if (open[row] !== 1) continue;
      open[row] = 0;
      taken += 1;
    }
    if (taken === rows.length && order.length === rows.length) return;
    const { name } = this.sampler.constructor;
    throw new VerlError(
      "VERL_DATA_SAMPLER",
      `${name} ${done} ${order.length} rows of ${rows.length} for epoch ${this.epoch}, not each one once.`,
      {
        hint: "order() returns a permutation of 0 … length − 1, reorder() one of the rows that it is given. This is for the sampler's author to mend.",
      },
    );
  }

  /** Rows of this epoch that are still to be handed out. */
  private left(): number {
    const { epochLength, batchSize, dropLast } = this;
    const usable = dropLast ? epochLength - (epochLength % batchSize) : epochLength;
    // After a resume with another batch size, the rest may be less than one batch.
    const rest = usable - this.position;
    return dropLast && rest < batchSize ? 0 : Math.max(rest, 0);
  }
}
