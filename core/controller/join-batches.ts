import { DataProto } from "../batch/data-proto.ts";
import { IS_PAD } from "../batch/padding.ts";
import { VerlError } from "../errors/index.ts";
import { DataProtoFuture } from "./data-proto-future.ts";

/** Where the outputs of a call come from. */
export interface OutputPlaces {
  /** The rank of each output. Default: 0, 1, 2, … */
  readonly ranks?: readonly number[];
  /** Number of the share that each rank of the group had, by rank. Default: as many shares as outputs, rank i the i-th. */
  readonly shareOf?: readonly number[];
}

/**
 * The ranks' batches, in the order of their shares, as one, without the rows that were made of the padding that `shareArguments` added.
 * Where it added none, nothing is taken away. Else:
 * - rows that carry flags are told by these, wherever they went;
 * - where ranks give r rows without flags for each row that they got, in the order of these, so do the padding rows, and the last r for
 *   each of them go;
 * - where the rows that are no padding account for all that came, the ranks have left the padding out, and nothing goes;
 * - where the count follows neither way, what a share of whole rows gave is kept, what one of padding alone gave goes, and of the share
 *   that holds both go as many rows as it had of padding, as in verl.
 * @throws VERL_WORKER_FAILED for an output that is no batch.
 */
export async function joinBatches(
  outputs: readonly unknown[],
  args: readonly unknown[],
  { ranks = [...outputs.keys()], shareOf = [...outputs.keys()] }: OutputPlaces = {},
): Promise<DataProto> {
  const parts = outputs.map((output, index) => asBatch(output, ranks[index]!));
  const joined = DataProto.concat(parts);
  const given = args.find((arg) => arg instanceof DataProto || arg instanceof DataProtoFuture);
  const batch = given instanceof DataProtoFuture ? await given.get() : given;
  if (!batch || outputs.length === 0) return joined;
  const shares = Math.max(...shareOf) + 1;
  const size = Math.ceil(batch.length / shares);
  if (size * shares === batch.length) return joined;
  // Flags that came with the caller's batch are its own.
  if (joined.batch.has(IS_PAD) && !batch.batch.has(IS_PAD)) return joined.unpad();
  const valid = ranks.map((rank) => Math.min(Math.max(batch.length - shareOf[rank]! * size, 0), size));
  return joined.slice(0, rowsToKeep(parts, valid, size));
}

/** @param valid rows of each part's share that are no padding @param size rows of a share */
function rowsToKeep(parts: readonly DataProto[], valid: readonly number[], size: number): number {
  const all = sum(parts.map(({ length }) => length));
  const allValid = sum(valid);
  const rate = all / allValid;
  if (rate === 1 || parts.every(({ length }, index) => length === rate * valid[index]!)) return all;
  const kept = parts.map(({ length }, index) => {
    const rows = valid[index]!;
    if (rows === size) return length;
    if (length % size === 0 || rows === 0) return (length / size) * rows;
    return Math.max(length - (size - rows), 0);
  });
  return sum(kept);
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);

function asBatch(output: unknown, rank: number): DataProto {
  if (output instanceof DataProto) return output;
  const got =
    typeof output === "object" && output !== null
      ? `an instance of ${output.constructor?.name || "no class"}`
      : output === undefined || output === null
        ? String(output)
        : `a ${typeof output}`;
  throw new VerlError("VERL_WORKER_FAILED", `Rank ${rank} returned ${got}, where a DataProto is joined with others.`, {
    hint: "Return a DataProto from every rank, or choose a dispatch mode that gives a list.",
    details: { rank },
  });
}
