/** Numbers of the reference, on the GPU. */
import { useWebGpu } from "../kernel/on-webgpu.ts";
import { testLossParity } from "./loss-parity-cases.ts";

await useWebGpu();
testLossParity();
