import * as tf from "@tensorflow/tfjs";
import type { TensorBackend } from "verl";
import type { HostMemory } from "../kernel/host/host-kernel.ts";
import { registerHostKernels } from "../kernel/host/register.ts";
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

/** A tensor that another backend has is brought here by `get`. One that was cast keeps the array of its old type there. */
export const CPU_MEMORY: HostMemory<CpuBackend> = {
  valuesOf(backend, { dataId, dtype }) {
    const { values } = backend.data.get(dataId);
    const Values = dtype === "int32" ? Int32Array : Float32Array;
    return values instanceof Values ? values : new Values(values as Uint8Array);
  },
  tensorOf: (backend, values, shape) => backend.makeTensorInfo(shape, "float32", values),
};
