import * as tf from "@tensorflow/tfjs";
import type { TensorBackend } from "verl";
import { loadBinding } from "./session.ts";
import { whyNot } from "./why-not.ts";

/** Kernels are recorded and run as one compiled ONNX graph a step. */
export const ort: TensorBackend = {
  description: "Records kernels and runs them as one compiled graph through onnxruntime: the default on a CPU.",
  tfjsName: "ort",

  unavailable() {
    try {
      loadBinding();
      return Promise.resolve(undefined);
    } catch (error) {
      return Promise.resolve(whyNot(error as NodeJS.ErrnoException));
    }
  },

  async activate(options) {
    // Loads tfjs and all kernels, which a command that trains nothing never waits for.
    const { registerOrt } = await import("./register-ort.ts");
    registerOrt(options);
    await tf.setBackend("ort");
  },
};
