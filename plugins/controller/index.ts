import { InlineTransport, provide } from "verl";
import { allToAll } from "./all-to-all.ts";
import { dpComputeMetric } from "./dp-compute-metric.ts";
import { dpComputeProto } from "./dp-compute-proto.ts";
import { dpCompute } from "./dp-compute.ts";
import { oneToAll } from "./one-to-all.ts";
import { rankZero } from "./rank-zero.ts";

export const dispatchModes = [
  provide("dispatch", "ALL_TO_ALL", allToAll),
  provide("dispatch", "DP_COMPUTE", dpCompute),
  provide("dispatch", "DP_COMPUTE_METRIC", dpComputeMetric),
  provide("dispatch", "DP_COMPUTE_PROTO", dpComputeProto),
  provide("dispatch", "ONE_TO_ALL", oneToAll),
  provide("dispatch", "RANK_ZERO", rankZero),
];

export const transports = [
  provide("transport", "inline", {
    description:
      "Runs every rank in the trainer's own thread: nothing is copied, and a debugger steps into the workers.",
    create: InlineTransport,
  }),
];
