import type { KernelTable } from "../kernel.ts";
import { binaryKernels } from "./binary.ts";
import { broadcastKernels } from "./broadcast.ts";
import { cacheKernels } from "./cache.ts";
import { castKernels } from "./cast.ts";
import { gatherKernels } from "./gather.ts";
import { matMulKernels } from "./matmul.ts";
import { reduceKernels, softmaxKernels } from "./reduce.ts";
import { selectKernels } from "./select.ts";
import { shapeKernels } from "./shape.ts";
import { unaryKernels } from "./unary.ts";

/** Every tfjs kernel that is recorded; all others run on `cpu`. */
export const KERNELS: KernelTable = {
  ...unaryKernels,
  ...binaryKernels,
  ...castKernels,
  ...broadcastKernels,
  ...reduceKernels,
  ...softmaxKernels,
  ...matMulKernels,
  ...shapeKernels,
  ...selectKernels,
  ...gatherKernels,
  ...cacheKernels,
};
