import * as tf from "@tensorflow/tfjs";
import type { Recorder } from "./recorder.ts";
import { isDType, type LazyValue } from "./value.ts";

/** The part of tfjs' own backends that is not in their common type. */
interface EagerBackend extends tf.KernelBackend {
  makeTensorInfo(shape: readonly number[], dtype: tf.DataType, values: tf.BackendValues): tf.TensorInfo;
  disposeIntermediateTensorInfo(info: tf.TensorInfo): void;
}

const warned = new Set<string>();

/** Says once per kernel that it is slow here. */
export function warnOfFallback(kernelName: string): void {
  if (warned.has(kernelName)) return;
  warned.add(kernelName);
  console.warn(
    `The tensor backend "ort" does not record the kernel ${kernelName} (for these dtypes); it runs on "cpu", ` +
      `which ends the recorded graph before it. Results are the same, only slower.`,
  );
}

/** Runs one kernel on tfjs' `cpu` backend: what is recorded runs first, then its inputs are copied there and its outputs back. */
export function runOnCpu(
  recorder: Recorder,
  kernelName: string,
  inputs: Readonly<Record<string, LazyValue>>,
  attrs: tf.NamedAttrMap | undefined,
): LazyValue[] {
  const cpu = tf.findBackend("cpu") as EagerBackend;
  const copies = new Map<string, tf.TensorInfo>();
  for (const [name, value] of Object.entries(inputs)) {
    copies.set(name, cpu.makeTensorInfo(value.shape, value.dtype, recorder.valuesOf(value)));
  }
  // Kernels with a list of inputs want an array, whatever tfjs declares.
  const given = Array.isArray(inputs)
    ? ([...copies.values()] as unknown as tf.NamedTensorInfoMap)
    : Object.fromEntries(copies);
  const result = tf.getKernel(kernelName, "cpu").kernelFunc({ inputs: given, attrs, backend: cpu });
  const outputs = Array.isArray(result) ? result : [result];
  const values = outputs.map(({ dataId, shape, dtype }) => {
    if (!isDType(dtype)) throw new TypeError(`Kernel ${kernelName} gave dtype ${dtype}.`);
    return recorder.write(cpu.readSync(dataId) as ArrayLike<number>, shape, dtype);
  });
  for (const info of new Set([...copies.values(), ...outputs])) cpu.disposeIntermediateTensorInfo(info);
  return values;
}
