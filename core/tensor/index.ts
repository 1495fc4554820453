export { createRng, type Rng } from "./rng.ts";
export type { BackendOptions, TensorBackend } from "./tensor-backend.ts";
