import * as tf from "@tensorflow/tfjs";

/*
 * Gradients that tfjs computes in a roundabout way, said shorter. They are right on every backend, so they simply replace
 * tfjs' own.
 */

/** tfjs multiplies by a tensor of ones that it writes from JavaScript at each step; a broadcast says the same. */
function spread(dy: tf.Tensor, x: tf.Tensor, axis: number | number[], scale: (count: number) => number): tf.Tensor {
  const axes = tf.util.parseAxisParam(axis, x.shape);
  const kept = x.shape.map((dim, i) => (axes.includes(i) ? 1 : dim));
  const factor = scale(axes.reduce((count, i) => count * x.shape[i]!, 1));
  return tf.broadcastTo(tf.reshape(factor === 1 ? dy : tf.mul(dy, factor), kept), x.shape);
}

const sum: tf.GradConfig = {
  kernelName: "Sum",
  inputsToSave: ["x"],
  gradFunc: (dy, [x], attrs) => ({ x: () => spread(dy as tf.Tensor, x!, attrs["axis"] as number[], () => 1) }),
};

const mean: tf.GradConfig = {
  kernelName: "Mean",
  inputsToSave: ["x"],
  gradFunc: (dy, [x], attrs) => ({
    x: () => spread(dy as tf.Tensor, x!, attrs["axis"] as number[], (count) => 1 / count),
  }),
};

/** tfjs adds up one slice a repetition; here repetitions are a dimension of their own, and summed over at once. */
const tile: tf.GradConfig = {
  kernelName: "Tile",
  inputsToSave: ["x"],
  gradFunc(dy, [x], attrs) {
    const reps = attrs["reps"] as number[];
    const split: number[] = [];
    const axes: number[] = [];
    x!.shape.forEach((dim, i) => {
      if (reps[i]! > 1) axes.push(split.push(reps[i]!) - 1);
      split.push(dim);
    });
    return { x: () => tf.reshape(tf.sum(tf.reshape(dy as tf.Tensor, split), axes), x!.shape) };
  },
};

/** tfjs slices each batch out; here rows of all batches are numbered in one list. Also for no batches: then there is one. */
function gatherGradient(dy: tf.Tensor, x: tf.Tensor, indices: tf.Tensor, batchDims: number): tf.Tensor {
  const batches = tf.util.sizeFromShape(x.shape.slice(0, batchDims));
  const length = x.shape[batchDims]!;
  const width = tf.util.sizeFromShape(x.shape.slice(batchDims + 1));
  const ids = tf.reshape(indices, [batches, -1]);
  if (tf.getKernel("UnsortedSegmentSum", tf.getBackend()) === undefined) {
    // `wasm` lacks it, and so could not differentiate a gather: a product with one-hot rows sums as well.
    const oneHot = tf.cast(tf.oneHot(ids, length), "float32");
    return tf.reshape(tf.matMul(oneHot, tf.reshape(dy, [batches, -1, width]), true), x.shape);
  }
  const starts = tf.reshape(tf.range(0, batches * length, length, "int32"), [batches, 1]);
  const numbered = tf.reshape(batches === 1 ? ids : tf.add(ids, starts), [-1]);
  return tf.reshape(
    tf.unsortedSegmentSum(tf.reshape(dy, [-1, width]), numbered as tf.Tensor1D, batches * length),
    x.shape,
  );
}

function gather(theirs: tf.GradConfig): tf.GradConfig {
  return {
    ...theirs,
    gradFunc(dy, saved, attrs) {
      const [x, indices] = saved as [tf.Tensor, tf.Tensor];
      const batchDims = (attrs["batchDims"] as number | undefined) ?? 0;
      const axis = tf.util.parseAxisParam(attrs["axis"] as number, x.shape)[0]!;
      if (axis !== batchDims) return theirs.gradFunc(dy, saved, attrs);
      return {
        x: () => gatherGradient(dy as tf.Tensor, x, indices, batchDims),
        indices: () => tf.zerosLike(indices),
      };
    },
  };
}

let registered = false;

export function registerGradients(): void {
  if (registered) return;
  registered = true;
  for (const gradient of [sum, mean, tile, gather(tf.getGradient("GatherV2"))]) tf.registerGradient(gradient);
}
