export { CACHE_ROW_WRITE, cacheRowWrite } from "./backend-cache-row-write.ts";
export { activateBackend, type ChosenBackend } from "./backend.ts";
export { createRng, type Rng } from "./rng.ts";
export { readSafetensors, safetensorsChunks, type SafetensorsFile, type StoredArray } from "./safetensors.ts";
export type { BackendOptions, TensorBackend } from "./tensor-backend.ts";
