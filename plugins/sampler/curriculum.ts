import {
  DATASET,
  inject,
  OPTIONS,
  RNG,
  VerlError,
  type DataProto,
  type Dataset,
  type DatasetRow,
  type Rng,
  type Sampler,
} from "verl";

export interface CurriculumOptions {
  column: string;
  start: number;
  pace: number;
  target: number;
}

interface CurriculumState {
  open: number;
  length: number;
}

/**
 * From easy to hard, as fast as the policy learns. Of the rows sorted by difficulty a share is open, and the open ones come first, in
 * random order; the others wait behind them. A step whose mean score reaches `target` opens a further share of `pace`.
 */
export class CurriculumSampler implements Sampler {
  /** Share of the rows that is open, 0 to 1. */
  private open: number;
  /** By row; rows that a dataset adds later are read when they are first ordered. */
  private readonly difficulty: number[] = [];
  /** Rows of the epoch. */
  private length = 0;
  private changed = false;

  constructor(
    @inject(OPTIONS) private readonly options: CurriculumOptions,
    @inject(DATASET) private readonly dataset: Dataset,
    @inject(RNG) private readonly rng: Rng,
  ) {
    this.open = options.start;
  }

  order(epoch: number, length: number): Int32Array {
    this.length = length;
    const rows = Int32Array.from({ length }, (_, row) => row);
    return this.openFirst(this.rng.stream(`data/order/${epoch}`).shuffle(rows));
  }

  update(batch: DataProto): void {
    if (this.open >= 1 || meanScore(batch) < this.options.target) return;
    this.open = Math.min(1, this.open + this.options.pace);
    this.changed = true;
  }

  reorder(rest: Int32Array): Int32Array {
    if (!this.changed) return rest;
    this.changed = false;
    // The share only grows, so it names the stream.
    return this.openFirst(this.rng.stream(`data/opened/${this.open}`).shuffle(rest));
  }

  saveState(): CurriculumState {
    return { open: this.open, length: this.length };
  }

  loadState(state: unknown): void {
    const { open, length } = state as CurriculumState;
    Object.assign(this, { open, length });
  }

  /** Open rows in the order they have, then the others from easy to hard. */
  private openFirst(rows: Int32Array): Int32Array {
    const { difficulty, length } = this;
    for (let row = difficulty.length; row < length; row += 1) difficulty.push(this.difficultyOf(row));
    const sorted = difficulty.slice(0, length).sort((a, b) => a - b);
    const limit = sorted[Math.max(0, Math.ceil(this.open * sorted.length) - 1)]!;
    const open = rows.filter((row) => difficulty[row]! <= limit);
    const closed = rows.filter((row) => difficulty[row]! > limit).sort((a, b) => difficulty[a]! - difficulty[b]!);
    const all = new Int32Array(rows.length);
    all.set(open);
    all.set(closed, open.length);
    return all;
  }

  private difficultyOf(row: number): number {
    const { column } = this.options;
    const value = fieldAt(this.dataset.row(row), column);
    if (typeof value === "number" && Number.isFinite(value)) return value;
    throw new VerlError("VERL_DATA_COLUMN_TYPE", `Row ${row} of the dataset has no number at "${column}".`, {
      location: { path: "data.sampler.kwargs.column" },
      hint: "A curriculum needs the difficulty of every row: name the column that holds it, `extra_info.level` for a field.",
      details: { row, column },
    });
  }
}

function fieldAt(row: DatasetRow, path: string): unknown {
  return path
    .split(".")
    .reduce<unknown>((value, key) => (value as Record<string, unknown> | null | undefined)?.[key], row);
}

/** Mean score of the answers that have one; −∞ where none has. */
function meanScore(batch: DataProto): number {
  const scores = batch.tensor("token_level_scores", "float32");
  const unscored = batch.tensor("unscored", "uint8").data;
  let [sum, count] = [0, 0];
  for (let row = 0; row < batch.length; row += 1) {
    if (unscored[row] === 1) continue;
    sum += scores.row(row).data.reduce((total, value) => total + value, 0);
    count += 1;
  }
  return count > 0 ? sum / count : -Infinity;
}
