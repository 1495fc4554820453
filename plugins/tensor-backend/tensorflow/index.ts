import { createRequire } from "node:module";
import * as tf from "@tensorflow/tfjs";
import type { TensorBackend } from "verl";
import { registerGradients } from "../gradients.ts";
import { install } from "./install.ts";
import { findPackage, whatIsMissing } from "./package.ts";

const REMEDY = "Run `verl backend install tensorflow`.";

/** TensorFlow's own kernels through its C library, one by one. An optional package: it is loaded when this backend is asked for. */
export const tensorflow: TensorBackend = {
  description: "TensorFlow's kernels through @tensorflow/tfjs-node-gpu (CUDA) or tfjs-node, run one by one.",
  tfjsName: "tensorflow",

  unavailable() {
    const missing = whatIsMissing(process.cwd());
    if (missing !== undefined) return Promise.resolve(`${missing}. ${REMEDY}`);
    try {
      load();
      return Promise.resolve(undefined);
    } catch (error) {
      const [why] = String((error as Error).message).split("\n");
      return Promise.resolve(`its library does not load: ${why} ${REMEDY}`);
    }
  },

  async activate() {
    load();
    registerGradients();
    await tf.setBackend("tensorflow");
    await tf.ready();
  },

  install,
};

/** Loading registers the backend with tfjs and selects it, so whichever was active is selected again. */
function load(): void {
  const active = tf.getBackend() as string | undefined;
  const { folder } = findPackage(process.cwd())!;
  // Its notes on the processor's features are for who builds it.
  process.env["TF_CPP_MIN_LOG_LEVEL"] ??= "2";
  createRequire(import.meta.url)(folder);
  if (active && active !== tf.getBackend()) void tf.setBackend(active);
}
