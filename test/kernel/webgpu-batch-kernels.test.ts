import { beforeAll } from "@jest/globals";
import { testBatchKernels, testFusedKl } from "./batch-kernel-cases.ts";
import { poison, useWebGpu } from "./on-webgpu.ts";

beforeAll(useWebGpu);

testBatchKernels({ backend: "webgpu", tolerance: 1e-5, poison });
testFusedKl("webgpu");
