import { InlineTransport, provide, RayTransport, ThreadTransport } from "verl";
import { allToAll } from "./all-to-all.ts";
import { dpComputeMetric } from "./dp-compute-metric.ts";
import { directRolloutMethod } from "./direct-rollout-method.ts";
import { dpComputeProto } from "./dp-compute-proto.ts";
import { dpComputeProtoWithFunc } from "./dp-compute-proto-with-func.ts";
import { dpCompute } from "./dp-compute.ts";
import { oneToAll } from "./one-to-all.ts";
import { rankZero } from "./rank-zero.ts";

export { executeModes } from "./execute-modes.ts";

export const dispatchModes = [
  provide("dispatch", "ALL_TO_ALL", allToAll),
  provide("dispatch", "DP_COMPUTE", dpCompute),
  provide("dispatch", "DP_COMPUTE_METRIC", dpComputeMetric),
  provide("dispatch", "DP_COMPUTE_PROTO", dpComputeProto),
  provide("dispatch", "DP_COMPUTE_PROTO_WITH_FUNC", dpComputeProtoWithFunc),
  provide("dispatch", "DIRECT_ROLLOUT_METHOD", directRolloutMethod),
  provide("dispatch", "ONE_TO_ALL", oneToAll),
  provide("dispatch", "RANK_ZERO", rankZero),
];

export const transports = [
  provide("transport", "inline", {
    description:
      "Runs every rank in the trainer's own thread: nothing is copied, and a debugger steps into the workers.",
    create: InlineTransport,
    oneMachine: true,
  }),
  provide("transport", "thread", {
    description:
      "Runs every rank in a thread of the trainer's process: batches are moved between threads, gradients are added up in shared memory.",
    create: ThreadTransport,
    oneMachine: true,
  }),
  provide("transport", "ray", {
    description:
      "Runs every rank in a process on the machines of an existing Ray cluster: placement groups reserve the places, batches go over one connection a rank.",
    create: RayTransport,
    checkConfig: RayTransport.checkConfig,
  }),
];
