import * as tf from "@tensorflow/tfjs";
import type { TensorBackend } from "verl";
import { type HostMemory, registerHostKernels } from "../kernel/host/register.ts";
import { registerGradients } from "./gradients.ts";

/** tfjs' plain JavaScript: runs everywhere, slowly. */
export const cpu: TensorBackend = {
  description: "tfjs' plain JavaScript kernels: no dependency, one thread, for tests and as the last resort.",
  tfjsName: "cpu",
  unavailable: () => Promise.resolve(undefined),
  async activate() {
    registerGradients();
    registerHostKernels("cpu", CPU_MEMORY);
    await tf.setBackend("cpu");
  },
};

/** The part of tfjs' backend that is not in the common type. */
interface CpuBackend extends tf.KernelBackend {
  readonly data: { get(dataId: object): { readonly values: tf.BackendValues } };
  makeTensorInfo(shape: number[], dtype: tf.DataType, values: tf.BackendValues): tf.TensorInfo;
}

/** A tensor that another backend has is brought here by `get`. One cast to float32 keeps the array of its old type there. */
export const CPU_MEMORY: HostMemory<CpuBackend> = {
  valuesOf(backend, { dataId }) {
    const { values } = backend.data.get(dataId);
    return values instanceof Float32Array ? values : new Float32Array(values as Int32Array);
  },
  tensorOf: (backend, values, shape) => backend.makeTensorInfo(shape, "float32", values),
};
