import * as tf from "@tensorflow/tfjs";
import { registerHostKernels } from "../../plugins/kernel/host/register.ts";
import { CPU_MEMORY } from "../../plugins/tensor-backend/cpu.ts";
import { registerOrt } from "../../plugins/tensor-backend/ort/register-ort.ts";

tf.enableProdMode();

/** tfjs' `cpu` with the kernels, beside the one without them that gives the composed forms. */
export const CPU_WITH_KERNELS = "cpu-with-kernels";

/** With the kernels that beat its graphs. */
export const ort = registerOrt({ threads: 1 });

tf.registerBackend(CPU_WITH_KERNELS, tf.findBackendFactory("cpu"));
tf.copyRegisteredKernels("cpu", CPU_WITH_KERNELS);
/** Results start as NaN: an element that a kernel does not write stays one. */
const room = (_: tf.KernelBackend, size: number) => new Float32Array(size).fill(NaN);
registerHostKernels(CPU_WITH_KERNELS, { ...CPU_MEMORY, room });

export const HOST_BACKENDS = [CPU_WITH_KERNELS, "ort"] as const;
