import { maskedWhiten as whiten } from "verl";
import type { HostArray, HostKernel } from "./host-kernel.ts";

interface Inputs {
  readonly values: HostArray;
  readonly mask: HostArray;
}

/** The function that advantages are whitened by: two passes in float64. */
export const maskedWhiten: HostKernel<Inputs, { shiftMean: boolean }> = ({ values, mask }, { shiftMean }) => [
  { values: whiten(values.values, mask.values, shiftMean), shape: values.shape },
];
