import { totalmem } from "node:os";
import * as tf from "@tensorflow/tfjs";
import type { BackendOptions, TensorBackend } from "verl";
import { registerGradients } from "../gradients.ts";
import { physicalCores } from "../physical-cores.ts";
import { OrtBackend } from "./backend.ts";
import { registerKernels } from "./register.ts";
import { loadBinding } from "./session.ts";
import { whyNot } from "./why-not.ts";

const NAME = "ort";

/** Training, sampling, log-probs and validation, each in a few shapes. */
const CACHED_GRAPHS = 48;
/** Compiled graphs may hold this share of the machine's memory. */
const MEMORY_SHARE = 0.25;

/** Kernels are recorded and run as one compiled ONNX graph a step. */
export const ort: TensorBackend = {
  description: "Records kernels and runs them as one compiled graph through onnxruntime: the default on a CPU.",
  tfjsName: NAME,

  unavailable() {
    try {
      loadBinding();
      return Promise.resolve(undefined);
    } catch (error) {
      return Promise.resolve(whyNot(error as NodeJS.ErrnoException));
    }
  },

  async activate(options) {
    registerOrt(options);
    await tf.setBackend(NAME);
  },
};

/** The backend as tfjs knows it, registered on the first call. Options count then, and not later. */
export function registerOrt({ threads, cachedGraphs }: BackendOptions = {}): OrtBackend {
  const known = tf.findBackend(NAME);
  if (known !== null && known !== undefined) return known as OrtBackend;
  const backend = new OrtBackend({
    threads: threads ?? physicalCores(),
    sessions: cachedGraphs ?? CACHED_GRAPHS,
    sessionBytes: MEMORY_SHARE * totalmem(),
  });
  tf.registerBackend(NAME, () => backend);
  registerKernels(backend, NAME);
  registerGradients();
  return backend;
}
