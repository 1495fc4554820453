import { countDenominators, type LossDenominators } from "../algorithm/index.ts";
import { NdArray } from "../batch/index.ts";
import type { Batch } from "./batch.ts";

/** Counts over a whole step, with the response length as scale factor. */
export const denominatorsOf = ({ rows, width, mask }: Batch): LossDenominators =>
  countDenominators(new NdArray("float32", [rows, width], mask), null);
