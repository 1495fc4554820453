import { VerlError } from "../errors/verl-error.ts";
import { inverseOrder, seqlenBalancedPartitions, workload, type Partitions } from "./balance.ts";
import type { DataProto } from "./data-proto.ts";
import { requirePositive } from "./row-ids.ts";

export interface MicroBatchOptions {
  /** At least this many micro-batches, for example as many as another rank has. Default 1. */
  minCount?: number;
  /** Their number is a multiple of this. Default 1. */
  multipleOf?: number;
  /** Small micro-batches at both ends, where a pipeline fills and drains. Default true. */
  smallAtEnds?: boolean;
}

export interface MicroBatches {
  /** Copies of the rows, cut so that every micro-batch of more than one row has at most the allowed tokens. */
  batches: DataProto[];
  /** Row numbers of each micro-batch. */
  partitions: Partitions;
  /** Brings concatenated results back in the batch's order: `DataProto.concat(results).index(restore)`. */
  restore: Int32Array;
}

/**
 * Micro-batches bounded by tokens instead of rows, with nearly equal work. A row longer than the limit stands alone.
 * @param batch needs `attention_mask`; its sum is a row's length.
 * @throws VERL_BATCH_BALANCE when more micro-batches are asked for than there are rows.
 */
export function rearrangeMicroBatches(
  batch: DataProto,
  maxTokens: number,
  options: MicroBatchOptions = {},
): MicroBatches {
  const partitions = microBatchPartitions(rowLengths(batch), maxTokens, options);
  return {
    batches: partitions.map((rows) => batch.index(rows)),
    partitions,
    restore: inverseOrder(partitions.flat()),
  };
}

/** The partition behind `rearrangeMicroBatches`, from the rows' lengths alone. */
export function microBatchPartitions(
  lengths: ArrayLike<number>,
  maxTokens: number,
  { minCount = 1, multipleOf = 1, smallAtEnds = true }: MicroBatchOptions = {},
): Partitions {
  requirePositive("The token limit of a micro-batch", maxTokens);
  const rows = lengths.length;
  if (rows === 0) return [];
  const work = Array.from(lengths, workload);
  const tokens = (part: readonly number[]): number => part.reduce((sum, row) => sum + lengths[row]!, 0);
  const fits = (part: readonly number[]): boolean => part.length === 1 || tokens(part) <= maxTokens;
  const total = tokens([...work.keys()]);
  let wanted = Math.max(Math.min(rows, Math.ceil(total / maxTokens)), minCount, 1);
  for (;;) {
    const count = Math.ceil(wanted / multipleOf) * multipleOf;
    if (count > rows) throw tooMany(count, rows, maxTokens);
    const parts = seqlenBalancedPartitions(work, count, false);
    if (parts.every(fits)) return smallAtEnds ? withSmallAtEnds(parts, work) : parts;
    // Balanced by work, a part may still have too many tokens; in rising steps, so that few tries suffice.
    wanted = Math.min(Math.ceil(count * 1.1), rows);
  }
}

function withSmallAtEnds(parts: Partitions, work: readonly number[]): Partitions {
  const cost = (part: readonly number[]): number => part.reduce((sum, row) => sum + work[row]!, 0);
  const descending = parts.sort((a, b) => cost(b) - cost(a) || b[0]! - a[0]!);
  return [...descending.filter((_, i) => i % 2 === 0).reverse(), ...descending.filter((_, i) => i % 2 === 1)];
}

/** Real tokens of each row: the sum of its `attention_mask`. */
function rowLengths(batch: DataProto): Float64Array {
  const mask = batch.tensor("attention_mask");
  const lengths = new Float64Array(mask.rows);
  for (let row = 0; row < mask.rows; row++) {
    for (const bit of mask.row(row).data) lengths[row]! += Number(bit);
  }
  return lengths;
}

function tooMany(count: number, rows: number, maxTokens: number): VerlError {
  return new VerlError(
    "VERL_BATCH_BALANCE",
    `${rows} rows cannot fill ${count} micro-batches of at most ${maxTokens} tokens.`,
    {
      hint: "Raise the token limit, or ask for fewer micro-batches.",
      details: { rows, count },
    },
  );
}
