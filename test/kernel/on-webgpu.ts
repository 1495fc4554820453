import { jest } from "@jest/globals";
import * as tf from "@tensorflow/tfjs";
import { registerWebGpu } from "../../plugins/tensor-backend/webgpu/index.ts";
import { valuesOf } from "./values-of.ts";

// Software Vulkan takes seconds to compile some of tfjs' shaders.
jest.setTimeout(300_000);

/** Selects the GPU that Vulkan, Metal or Direct3D gives; fails with what to do where there is none. */
export async function useWebGpu(): Promise<void> {
  tf.enableProdMode();
  await registerWebGpu();
  await tf.setBackend("webgpu");
}

/**
 * Leaves buffers of that many elements full of NaN in the backend's pool, so that the next results of this size start as NaN: an element
 * that a kernel does not write stays one.
 */
export async function poison(elements: number, buffers = 8): Promise<void> {
  const tensors = Array.from({ length: buffers }, () =>
    tf.tidy(() => tf.add(tf.fill([elements], NaN), tf.zeros([elements]))),
  );
  await valuesOf(tensors);
  tf.dispose(tensors);
}
