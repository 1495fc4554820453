/** The embedded engine's tests, on the GPU. */
import { useWebGpu } from "../kernel/on-webgpu.ts";

await useWebGpu();
await import("../engine/embedded-engine.test.ts");
