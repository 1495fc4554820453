import * as tf from "@tensorflow/tfjs";

/** True when the chosen backend has a kernel of that name. */
export const hasKernel = (name: string): boolean => tf.getKernel(name, tf.getBackend()) !== undefined;

/** Runs a registered kernel, with the gradient registered under its name. Inputs that are undefined are left out. */
export function callKernel(
  name: string,
  inputs: Readonly<Record<string, tf.Tensor | undefined>>,
  attrs: tf.NamedAttrMap,
): tf.Tensor[] {
  const given = Object.fromEntries(Object.entries(inputs).filter(([, tensor]) => tensor !== undefined));
  const result = tf.engine().runKernel(name, given as tf.NamedTensorMap, attrs);
  return Array.isArray(result) ? result : [result];
}

const registered = new Set<string>();

/** Tells tfjs of a kernel's gradient, once. Called where the kernel is, so that importing a file has no effect. */
export function ensureGradient(gradient: tf.GradConfig): void {
  if (registered.has(gradient.kernelName)) return;
  registered.add(gradient.kernelName);
  tf.registerGradient(gradient);
}
