/** The conformance kit over every built-in algorithm, on the GPU. */
import { useWebGpu } from "../kernel/on-webgpu.ts";

await useWebGpu();
await import("./built-ins.test.ts");
