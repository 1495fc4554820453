import * as tf from "@tensorflow/tfjs";
import type { OrtBackend } from "./backend.ts";
import { runOnCpu, warnOfFallback } from "./fallback.ts";
import type { Kernel } from "./kernel.ts";
import { KERNELS } from "./ops/index.ts";
import { allocate, type LazyValue } from "./value.ts";

type Inputs = Record<string, LazyValue>;
type AnyKernel = Kernel<Inputs, tf.NamedAttrMap | undefined>;

/** Tells tfjs about every kernel: the recorded ones, and the rest of `cpu`'s, which run there. */
export function registerKernels(backend: OrtBackend, backendName: string): void {
  for (const [kernelName, kernel] of Object.entries(KERNELS)) {
    tf.registerKernel({ kernelName, backendName, kernelFunc: recording(backend, kernelName, kernel as AnyKernel) });
  }
  for (const kernel of tf.getKernelsForBackend("cpu")) {
    const { kernelName } = kernel;
    // One that is not for all inputs has a composed form, which is recorded.
    if (tf.getKernel(kernelName, backendName) !== undefined || "accepts" in kernel) continue;
    tf.registerKernel({ kernelName, backendName, kernelFunc: recording(backend, kernelName, () => undefined) });
  }
}

function recording(backend: OrtBackend, kernelName: string, kernel: AnyKernel): tf.KernelFunc {
  const { recorder } = backend;
  return ({ inputs, attrs }) => {
    recorder.cutIfLong();
    const values = (Array.isArray(inputs) ? [] : {}) as Inputs;
    let empty = false;
    for (const name in inputs) {
      const info = inputs[name];
      if (info === undefined || info === null) continue;
      const value = backend.resolve(info.dataId);
      values[name] = value;
      empty ||= value.size === 0;
    }
    const outputs =
      (empty ? undefined : kernel(recorder, values, attrs)) ?? computed(backend, kernelName, values, attrs, empty);
    return Array.isArray(outputs) ? outputs.map((output) => expose(backend, output)) : expose(backend, outputs);
  };
}

/**
 * What `cpu` has the say in. Two cases are as they should be, and get no warning: kernels that read no tensor (Range), and
 * tensors without elements, for which ONNX' rules differ and there is nothing to gain.
 */
function computed(
  backend: OrtBackend,
  kernelName: string,
  inputs: Inputs,
  attrs: tf.NamedAttrMap | undefined,
  empty: boolean,
) {
  if (!empty && Object.keys(inputs).length > 0) warnOfFallback(kernelName);
  const outputs = runOnCpu(backend.recorder, kernelName, inputs, attrs);
  return outputs.length === 1 ? outputs[0]! : outputs;
}

/** An output as tfjs sees it. One without elements needs no graph. */
function expose(backend: OrtBackend, value: LazyValue): tf.TensorInfo {
  const { recorder } = backend;
  const output =
    value.size === 0 && value.values === undefined
      ? recorder.adopt(allocate(value.dtype, 0), value.shape, value.dtype, false)
      : value;
  recorder.retain(output);
  return { dataId: output, shape: output.shape as number[], dtype: output.dtype };
}
