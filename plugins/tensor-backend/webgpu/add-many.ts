import * as tf from "@tensorflow/tfjs";

/** Inputs of one shader; devices have at least 8 storage buffers a stage, of which the result takes one. */
const AT_ONCE = 7;

/** tfjs adds any number of tensors in one shader, and fails where the device has fewer storage buffers than that. */
export function addManyInTurns(backendName: string): void {
  const theirs = tf.getKernel("AddN", backendName);
  const kernelFunc: tf.KernelFunc = ({ inputs, backend, attrs }) => {
    // tfjs declares a map of inputs, and gives this kernel a list.
    const rest = [...(inputs as unknown as tf.TensorInfo[])];
    const own = new Set<tf.TensorInfo>();
    const sum = (): tf.TensorInfo => {
      const some = rest.splice(0, AT_ONCE);
      const result = theirs.kernelFunc({ inputs: some as never, backend, attrs }) as tf.TensorInfo;
      for (const info of some) {
        if (own.delete(info)) (backend as tf.KernelBackend).disposeData(info.dataId);
      }
      return result;
    };
    while (rest.length > AT_ONCE) {
      const partial = sum();
      own.add(partial);
      rest.unshift(partial);
    }
    return sum();
  };
  tf.unregisterKernel("AddN", backendName);
  tf.registerKernel({ ...theirs, kernelFunc });
}
