import * as tf from "@tensorflow/tfjs";
import type { TensorBackend } from "verl";
import { registerGradients } from "./gradients.ts";

/** tfjs' plain JavaScript: runs everywhere, slowly. */
export const cpu: TensorBackend = {
  description: "tfjs' plain JavaScript kernels: no dependency, one thread, for tests and as the last resort.",
  tfjsName: "cpu",
  unavailable: () => Promise.resolve(undefined),
  async activate() {
    registerGradients();
    await tf.setBackend("cpu");
  },
};
