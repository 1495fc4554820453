import { createRequire } from "node:module";
import { dirname, sep } from "node:path";
import * as tf from "@tensorflow/tfjs";
import type * as WasmBackend from "@tensorflow/tfjs-backend-wasm";
import type { TensorBackend } from "verl";
import { registerGradients } from "./gradients.ts";
import { physicalCores } from "./physical-cores.ts";

const PACKAGE = "@tensorflow/tfjs-backend-wasm";
const require = createRequire(import.meta.url);

function entryFile(): string | undefined {
  try {
    return require.resolve(PACKAGE);
  } catch {
    return undefined;
  }
}

/** tfjs' WebAssembly kernels. An optional package: it is imported when this backend is asked for. */
export const wasm: TensorBackend = {
  description: "tfjs' WebAssembly kernels, run one by one: where onnxruntime has no binary.",
  tfjsName: "wasm",
  unavailable() {
    const reason = `the package ${PACKAGE} is not installed. Run \`npm install ${PACKAGE}@${tf.version_core}\`.`;
    return Promise.resolve(entryFile() === undefined ? reason : undefined);
  },
  async activate({ threads }) {
    const file = entryFile()!;
    // Required, not imported: only so it shares tfjs-core with @tensorflow/tfjs.
    const { setThreadsCount, setWasmPaths } = require(PACKAGE) as typeof WasmBackend;
    setWasmPaths(dirname(file) + sep);
    setThreadsCount(threads ?? physicalCores());
    registerGradients();
    await tf.setBackend("wasm");
    await tf.ready();
  },
};
