import type { NdArray } from "verl";
import { VerlError } from "verl";

/** A micro-batch's share of a loss and of its metrics. */
interface LossShare {
  loss: number;
  metrics: Record<string, number>;
}

/** The error for a loss that is not finite: names the first unmasked entry, of the first tensor, that is not finite itself. */
export function nameNotFinite(
  share: LossShare,
  suspects: readonly (readonly [string, NdArray])[],
  mask: NdArray | undefined,
): VerlError {
  for (const [tensor, { shape, data }] of suspects) {
    const at = data.findIndex(
      (value: number | bigint, i: number) => !Number.isFinite(Number(value)) && isRead(i, data.length, mask),
    );
    if (at < 0) continue;
    const width = shape[1] ?? 1;
    const [row, token] = [Math.floor(at / width), at % width];
    return error(share, `"${tensor}" is ${Number(data[at])} at row ${row}, token ${token}`, { tensor, row, token });
  }
  return error(share, "all of its inputs are finite, so its own arithmetic overflows or divides by zero", {});
}

/** Entries behind the mask are not the loss's business; per-row fields have no mask. */
function isRead(index: number, size: number, mask: NdArray | undefined): boolean {
  return mask?.data.length !== size || Number(mask.data[index]) !== 0;
}

function error({ loss, metrics }: LossShare, cause: string, details: Record<string, unknown>): VerlError {
  return new VerlError("VERL_ENGINE_NOT_FINITE", `The loss is ${loss}: ${cause}.`, {
    hint: "The weights and the accumulated gradient are as they were before this micro-batch. Look at what made that value, or lower the learning rate.",
    details: { loss, metrics, ...details },
  });
}
