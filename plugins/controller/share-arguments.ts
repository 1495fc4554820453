import { DataProto, VerlError, type DispatchTarget } from "verl";

/** Rows of the batches among a call's arguments, before padding. */
export function batchLength(args: readonly unknown[]): number {
  return args.find((arg) => arg instanceof DataProto)?.length ?? 0;
}

/** Argument list of each rank: its share of every batch, everything else as it is. Padding rows are flagged in the batch. */
export function shardBatches(
  { name, worldSize }: DispatchTarget,
  args: readonly unknown[],
): readonly (readonly unknown[])[] {
  const batches = args.filter((arg) => arg instanceof DataProto);
  const lengths = new Set(batches.map((batch) => batch.length));
  if (lengths.size !== 1) {
    const got = lengths.size === 0 ? "no batch" : `batches of ${[...lengths].join(" and ")} rows`;
    throw new VerlError("VERL_DISPATCH_ARGUMENTS", `A data-parallel call to ${name} got ${got}.`, {
      hint: "Pass at least one DataProto; several must have the same number of rows.",
    });
  }
  const columns = args.map((arg) =>
    arg instanceof DataProto ? arg.padToDivisor(worldSize).chunk(worldSize) : new Array<unknown>(worldSize).fill(arg),
  );
  return Array.from({ length: worldSize }, (_, rank) => columns.map((column) => column[rank]));
}
