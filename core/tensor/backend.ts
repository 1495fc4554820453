import * as tf from "@tensorflow/tfjs";
import { VerlError } from "../errors/index.ts";
import { registries } from "../registry/index.ts";
import type { BackendOptions } from "./tensor-backend.ts";

/** What is tried on a CPU when the config names no backend, best first. */
const ON_CPU = ["ort", "wasm", "cpu"];

/** What is tried before those where the config wants a device. */
const ON_DEVICE: Readonly<Record<string, readonly string[]>> = {
  webgpu: ["webgpu"],
  cuda: ["tensorflow", "webgpu"],
};

export interface BackendWish extends BackendOptions {
  /** `trainer.device`: says what is tried where no backend is named. Default: `cpu`. */
  device?: string;
}

/** What a config says of the backend besides its key. */
export const backendWish = (config: {
  readonly tensor_adapter: string | null;
  readonly trainer: { readonly device: string };
}): BackendWish => ({ device: config.trainer.device, adapter: config.tensor_adapter ?? undefined });

export interface ChosenBackend {
  /** Key in the `tensor_backend` registry. */
  key: string;
  /** Which backend runs and why, in a sentence for the log. */
  note: string;
}

/**
 * Activates the tensor backend of a run.
 *
 * @param key `tensor_backend` of the config. Null: the first that can run here, of the device's own (`webgpu`; for `cuda` `tensorflow`, then
 *   `webgpu`) and then of `ort`, `wasm`, `cpu`.
 * @throws VERL_TENSOR_BACKEND_UNAVAILABLE when the named one, or every one, cannot; VERL_REGISTRY_KEY_UNKNOWN.
 */
export async function activateBackend(
  key: string | null,
  { device = "cpu", ...options }: BackendWish = {},
): Promise<ChosenBackend> {
  // Without it tfjs prints banners that advertise other packages.
  tf.enableProdMode();
  return key === null ? activateBest([...(ON_DEVICE[device] ?? []), ...ON_CPU], options) : activateNamed(key, options);
}

async function activateNamed(key: string, options: BackendOptions): Promise<ChosenBackend> {
  const backend = registries.tensor_backend.resolve(key, { path: "tensor_backend" });
  const reason = await backend.unavailable(options);
  if (reason !== undefined) {
    throw new VerlError("VERL_TENSOR_BACKEND_UNAVAILABLE", `The tensor backend "${key}" cannot run here: ${reason}`, {
      location: { path: "tensor_backend" },
      hint: "Or leave `tensor_backend` null, and the best that runs here is taken.",
    });
  }
  await backend.activate(options);
  return { key, note: `Tensor backend: ${key}, as configured.` };
}

async function activateBest(keys: readonly string[], options: BackendOptions): Promise<ChosenBackend> {
  const passedOver: string[] = [];
  for (const key of keys) {
    const backend = registries.tensor_backend.get(key);
    if (backend === undefined) continue;
    const reason = await backend.unavailable(options);
    if (reason === undefined) {
      await backend.activate(options);
      const why = passedOver.length === 0 ? "the best built in." : `since ${passedOver.join(" ")}`;
      return { key, note: `Tensor backend: ${key}, ${why}` };
    }
    passedOver.push(`"${key}" cannot run here: ${reason}`);
  }
  throw new VerlError("VERL_TENSOR_BACKEND_UNAVAILABLE", "No tensor backend can run here.", {
    location: { path: "tensor_backend" },
    hint: passedOver.join(" ") || 'Load the plugin "verl/plugins", which brings "ort", "wasm", "webgpu" and "cpu".',
  });
}
