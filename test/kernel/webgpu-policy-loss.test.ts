import { beforeAll } from "@jest/globals";
import { poison, useWebGpu } from "./on-webgpu.ts";
import { testPolicyLossKernel } from "./policy-loss-cases.ts";

beforeAll(useWebGpu);

testPolicyLossKernel({ backend: "webgpu", tolerance: 1e-5, poison });
