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
  /** Batches an epoch. */
  readonly stepsPerEpoch: number;
  private readonly options: Required<DataLoaderOptions>;
  private epoch = 0;
  private position = 0;
  private order: Int32Array | undefined;

  /** @throws VerlError VERL_DATA_EMPTY when the dataset does not fill one batch. */
  constructor(options: DataLoaderOptions) {
    const { length, batchSize, dropLast = true } = options;
    this.options = { ...options, dropLast };
    this.stepsPerEpoch = dropLast ? Math.floor(length / batchSize) : Math.ceil(length / batchSize);
    if (this.stepsPerEpoch === 0) {
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
  }

  next(): LoadedBatch {
    if (this.rest() === 0) {
      this.epoch += 1;
      this.position = 0;
      this.order = undefined;
    }
    this.order ??= this.drawOrder();
    const end = Math.min(this.position + this.options.batchSize, this.options.length);
    const indices = this.order.slice(this.position, end);
    this.position = end;
    return { indices, epoch: this.epoch, endsEpoch: this.rest() === 0 };
  }

  saveState(): LoaderState {
    const { epoch, position } = this;
    return { epoch, position, length: this.options.length, sampler: this.options.sampler.saveState() };
  }

  /** @throws VerlError VERL_DATA_LOADER_STATE when the state is broken or of a dataset of another size. */
  loadState(state: LoaderState): void {
    const { epoch, position, length } = state;
    const inRange =
      Number.isInteger(epoch) && epoch >= 0 && Number.isInteger(position) && position >= 0 && position <= length;
    if (!inRange || length !== this.options.length) {
      throw new VerlError(
        "VERL_DATA_LOADER_STATE",
        `The saved position (epoch ${epoch}, row ${position} of ${length}) does not fit the dataset of ${this.options.length} rows.`,
        {
          hint: "Resume with the files and filters of the interrupted run, or start anew with trainer.resume_mode=disable.",
        },
      );
    }
    this.options.sampler.loadState(state.sampler);
    this.epoch = epoch;
    this.position = position;
    this.order = undefined;
  }

  /** @throws VerlError VERL_DATA_SAMPLER when the sampler leaves out or repeats a row. */
  private drawOrder(): Int32Array {
    const { length, sampler } = this.options;
    const order = sampler.order(this.epoch, length);
    const seen = new Uint8Array(length);
    for (const row of order) if (row < length) seen[row] = 1;
    if (order.length === length && !seen.includes(0)) return order;
    throw new VerlError(
      "VERL_DATA_SAMPLER",
      `${sampler.constructor.name} ordered ${order.length} rows of ${length} for epoch ${this.epoch}, not each one once.`,
      {
        hint: "order() returns a permutation of 0 … length − 1. This is for the sampler's author to mend.",
      },
    );
  }

  /** Rows of this epoch that are still to be handed out. */
  private rest(): number {
    const { length, batchSize, dropLast } = this.options;
    const usable = dropLast ? length - (length % batchSize) : length;
    // After a resume with another batch size, the rest may be less than one batch.
    const rest = usable - this.position;
    return dropLast && rest < batchSize ? 0 : Math.max(rest, 0);
  }
}
