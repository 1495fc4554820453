import * as tf from "@tensorflow/tfjs";

/**
 * tfjs spreads the gradient of a sum by multiplying with a tensor of ones, written anew from JavaScript at each step. A
 * broadcast says the same, and readers that broadcast by themselves leave it out. Right on every backend.
 */
function spread(dy: tf.Tensor, x: tf.Tensor, axis: number | number[], scale: (count: number) => number): tf.Tensor {
  const axes = tf.util.parseAxisParam(axis, x.shape);
  const kept = x.shape.map((dim, i) => (axes.includes(i) ? 1 : dim));
  const count = axes.reduce((product, i) => product * x.shape[i]!, 1);
  const scaled = scale(count) === 1 ? dy : tf.mul(dy, scale(count));
  return tf.broadcastTo(tf.reshape(scaled, kept), x.shape);
}

const sumGradient: tf.GradConfig = {
  kernelName: "Sum",
  inputsToSave: ["x"],
  gradFunc: (dy, [x], attrs) => ({ x: () => spread(dy as tf.Tensor, x!, attrs["axis"] as number[], () => 1) }),
};

const meanGradient: tf.GradConfig = {
  kernelName: "Mean",
  inputsToSave: ["x"],
  gradFunc: (dy, [x], attrs) => ({
    x: () => spread(dy as tf.Tensor, x!, attrs["axis"] as number[], (count) => 1 / count),
  }),
};

export function registerGradients(): void {
  for (const gradient of [sumGradient, meanGradient]) tf.registerGradient(gradient);
}
