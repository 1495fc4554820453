import * as tf from "@tensorflow/tfjs";

type Inputs = Readonly<Record<string, tf.Tensor | undefined>>;

/** A kernel that is not for all inputs: for others the operation is composed of tfjs' own. */
export interface SelectiveKernel extends tf.KernelConfig {
  accepts(inputs: Readonly<Record<string, tf.Tensor>>): boolean;
}

/** True when the chosen backend has a kernel of that name, which is for these inputs. */
export function hasKernel(name: string, inputs: Inputs = {}): boolean {
  const kernel = tf.getKernel(name, tf.getBackend()) as Partial<SelectiveKernel> | undefined;
  return kernel !== undefined && (kernel.accepts?.(given(inputs)) ?? true);
}

/** Runs a registered kernel, with the gradient registered under its name. Inputs that are undefined are left out. */
export function callKernel(name: string, inputs: Inputs, attrs: tf.NamedAttrMap): tf.Tensor[] {
  const result = tf.engine().runKernel(name, given(inputs), attrs);
  return Array.isArray(result) ? result : [result];
}

const given = (inputs: Inputs): Record<string, tf.Tensor> =>
  Object.fromEntries(Object.entries(inputs).filter((entry): entry is [string, tf.Tensor] => entry[1] !== undefined));

const registered = new Set<string>();

/** Tells tfjs of a kernel's gradient, once. Called where the kernel is, so that importing a file has no effect. */
export function ensureGradient(gradient: tf.GradConfig): void {
  if (registered.has(gradient.kernelName)) return;
  registered.add(gradient.kernelName);
  tf.registerGradient(gradient);
}
