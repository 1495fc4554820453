import { describe, expect, it } from "@jest/globals";
import * as tf from "@tensorflow/tfjs";
import { SpareArrays } from "../../plugins/tensor-backend/ort/spare-arrays.ts";
import { ort } from "./on-backends.ts";

void tf.setBackend("ort");

const SHAPE: [number, number] = [256, 512];
const SIZE = SHAPE[0] * SHAPE[1];

/** A result of a host kernel, all of one number. */
function resultOf(value: number): tf.Tensor {
  const array = ort.recorder.spare.take(SIZE).fill(value);
  const dataId = ort.adopt(array, SHAPE);
  return tf.engine().makeTensorFromTensorInfo({ dataId, shape: SHAPE, dtype: "float32" });
}

const arrayOf = ({ dataId }: tf.Tensor) => ort.valuesAtHand(dataId);

describe("the array of a kernel's result on ort", () => {
  it("is used again once the tensor is gone", () => {
    const first = resultOf(1);
    const array = arrayOf(first);
    first.dispose();
    const second = resultOf(2);
    expect(arrayOf(second)).toBe(array);
    second.dispose();
  });

  it("is not used again while another tensor, or another shape, has it", () => {
    const first = resultOf(1);
    const clone = tf.clone(first);
    const flat = tf.reshape(clone, [SIZE]);
    tf.dispose([first, clone]);
    const second = resultOf(2);
    expect(arrayOf(second)).not.toBe(arrayOf(flat));
    expect(flat.dataSync().every((value) => value === 1)).toBe(true);
    tf.dispose([flat, second]);
  });

  it("is not used again while a graph has yet to read it", () => {
    const first = resultOf(1);
    const sum = tf.sum(first);
    first.dispose();
    const second = resultOf(2);
    expect(sum.dataSync()[0]).toBe(SIZE);
    tf.dispose([sum, second]);
  });

  it("is a copy for who reads it", () => {
    const first = resultOf(1);
    const read = first.dataSync();
    first.dispose();
    const second = resultOf(2);
    expect(read.every((value) => value === 1)).toBe(true);
    second.dispose();
  });
});

describe("spare arrays", () => {
  it("are given by their exact size, and those that waited longest make room", () => {
    const spare = new SpareArrays();
    const arrays = Array.from({ length: 5 }, () => new Float32Array(2 ** 23));
    for (const array of arrays) spare.keep(array);
    expect(spare.take(2 ** 23 - 1)).toHaveLength(2 ** 23 - 1);
    const taken = arrays.map(() => spare.take(2 ** 23));
    taken.slice(0, 4).forEach((array, i) => expect(array).toBe(arrays[4 - i]));
    expect(arrays.some((array) => array === taken[4])).toBe(false);
  });

  it("are not made of small ones, which cost nothing, nor of what is more than all of them may be", () => {
    const spare = new SpareArrays();
    for (const size of [1, 1024, 2 ** 25 + 1]) {
      const array = new Float32Array(size);
      spare.keep(array);
      expect(spare.take(size)).not.toBe(array);
    }
  });
});
