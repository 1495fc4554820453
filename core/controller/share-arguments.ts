import { DataProto } from "../batch/data-proto.ts";
import { IS_PAD } from "../batch/padding.ts";
import { VerlError } from "../errors/index.ts";
import { DataProtoFuture } from "./data-proto-future.ts";
import type { DispatchTarget, RankArguments } from "./dispatch.ts";

/** Rows of the batches among a call's arguments, before padding. */
function batchLength(args: readonly unknown[]): number {
  return args.find((arg) => arg instanceof DataProto)?.length ?? 0;
}

/**
 * Each argument in `shares` parts: a batch in equal ones, with padding rows that are flagged where the count does not divide, or
 * without padding, and then it must; anything else goes whole to each.
 */
export function shareArguments(
  { name }: Pick<DispatchTarget, "name">,
  args: readonly unknown[],
  shares: number,
  { pad = true }: { pad?: boolean } = {},
): RankArguments {
  const batches = args.filter((arg) => arg instanceof DataProto);
  const futures = args.some((arg) => arg instanceof DataProtoFuture);
  const lengths = new Set(batches.map((batch) => batch.length));
  if (lengths.size > 1 || (lengths.size === 0 && !futures)) {
    const got = lengths.size === 0 ? "no batch" : `batches of ${[...lengths].join(" and ")} rows`;
    throw new VerlError("VERL_DISPATCH_ARGUMENTS", `A data-parallel call to ${name} got ${got}.`, {
      hint: "Pass at least one DataProto; several must have the same number of rows.",
    });
  }
  const columns = args.map((arg): readonly unknown[] => {
    if (arg instanceof DataProto)
      return pad ? arg.padToDivisor(shares).chunk(shares) : arg.chunk(shares, { equal: true });
    if (arg instanceof DataProtoFuture) return arg.chunk(shares);
    return new Array<unknown>(shares).fill(arg);
  });
  return Array.from({ length: shares }, (_, share) => columns.map((column) => column[share]));
}

/** The ranks' batches as one, without the padding that `shareArguments` added. */
export function joinBatches(outputs: readonly unknown[], args: readonly unknown[]): DataProto {
  const joined = DataProto.concat(outputs as readonly DataProto[]);
  // Results that lost the padding flags still have the padding last.
  return joined.batch.has(IS_PAD) ? joined.unpad() : joined.slice(0, batchLength(args));
}
