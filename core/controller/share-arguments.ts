import { DataProto } from "../batch/data-proto.ts";
import { VerlError } from "../errors/index.ts";
import { DataProtoFuture } from "./data-proto-future.ts";
import type { DispatchTarget, RankArguments } from "./dispatch.ts";

/**
 * Each argument in `shares` parts: a batch in equal ones, with padding rows that are flagged where the count does not divide, or
 * without padding, and then it must; anything else goes whole to each. The parts of a future are futures: it is not waited for.
 */
export function shareArguments(
  { name }: Pick<DispatchTarget, "name">,
  args: readonly unknown[],
  shares: number,
  { pad = true }: { pad?: boolean } = {},
): RankArguments {
  const batches = args.filter((arg) => arg instanceof DataProto);
  const futures = args.filter((arg) => arg instanceof DataProtoFuture);
  if (batches.length > 0 || futures.length === 0) requireSameLength(name, batches);
  let arrived: Promise<void> | undefined;
  const allArrive = (): Promise<void> =>
    (arrived ??= Promise.all(futures).then((made) => requireSameLength(name, [...batches, ...made])));
  const padded = (batch: DataProto): DataProto => (pad ? batch.padToDivisor(shares) : batch);
  const columns = args.map((arg): readonly unknown[] => {
    if (arg instanceof DataProto) return padded(arg).chunk(shares, { equal: true });
    if (arg instanceof DataProtoFuture) {
      const whole = new DataProtoFuture(async () => {
        await allArrive();
        return padded(await arg.get());
      });
      return whole.chunk(shares, { equal: true });
    }
    return new Array<unknown>(shares).fill(arg);
  });
  return Array.from({ length: shares }, (_, share) => columns.map((column) => column[share]));
}

function requireSameLength(name: string, batches: readonly DataProto[]): void {
  const lengths = new Set(batches.map((batch) => batch.length));
  if (lengths.size === 1) return;
  const got = lengths.size === 0 ? "no batch" : `batches of ${[...lengths].join(" and ")} rows`;
  throw new VerlError("VERL_DISPATCH_ARGUMENTS", `A data-parallel call to ${name} got ${got}.`, {
    hint: "Pass at least one DataProto; several must have the same number of rows.",
  });
}
