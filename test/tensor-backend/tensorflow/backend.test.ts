import { describe, expect, it } from "@jest/globals";
import * as tf from "@tensorflow/tfjs";
import { tensorflow } from "../../../plugins/tensor-backend/tensorflow/index.ts";

describe("the backend tensorflow", () => {
  it("runs", async () => {
    expect(await tensorflow.unavailable()).toBeUndefined();
    expect(tf.getBackend()).toBe("tensorflow");
  });

  it("leaves the active backend alone when it is only looked at", async () => {
    await tf.setBackend("cpu");
    await tensorflow.unavailable();
    expect(tf.getBackend()).toBe("cpu");
  });

  it("has the gradients of the others: softmax, gather and a mean over an axis", async () => {
    const loss = (x: tf.Tensor) => tf.sum(tf.mean(tf.square(tf.softmax(tf.gather(x, [2, 0, 2]))), 1)).asScalar();
    const at = [
      [0.5, -1, 2],
      [3, 0.25, 1],
      [-2, 0, 1.5],
    ];
    const gradients: number[][] = [];
    for (const backend of ["tensorflow", "cpu"]) {
      await tf.setBackend(backend);
      gradients.push([...(await tf.grad(loss)(tf.tensor2d(at)).data())]);
    }
    gradients[0]!.forEach((value, index) => expect(value).toBeCloseTo(gradients[1]![index]!, 6));
  });
});
