import { afterAll, beforeAll, describe, expect, it, jest } from "@jest/globals";
import * as tf from "@tensorflow/tfjs";
import { registries } from "../../core/registry/index.ts";
import { activateBackend } from "../../core/tensor/backend.ts";
import { tensorBackends } from "../../plugins/tensor-backend/index.ts";
import { tensorflow } from "../../plugins/tensor-backend/tensorflow/index.ts";
import { webgpu } from "../../plugins/tensor-backend/webgpu/index.ts";

beforeAll(() => {
  for (const { kind, key, entry } of tensorBackends) registries[kind].register(key, entry);
});
afterAll(async () => {
  await tf.setBackend("cpu");
});

describe("the webgpu backend", () => {
  it("says which adapter is missing, and another backend takes its place", async () => {
    const adapter = "a card that nobody has";
    expect(await webgpu.unavailable({ adapter })).toMatch(
      /no GPU adapter whose name contains "a card that nobody has"/,
    );
    await expect(activateBackend("webgpu", { adapter })).rejects.toMatchObject({
      code: "VERL_TENSOR_BACKEND_UNAVAILABLE",
    });
    const { key, note } = await activateBackend(null, { device: "webgpu", adapter });
    expect(key).toBe("ort");
    expect(note).toMatch(/since "webgpu" cannot run here: webgpu finds no GPU adapter/);
  });

  it("is what a device of webgpu asks for, and one of cuda where TensorFlow cannot run", async () => {
    expect((await activateBackend(null, { device: "webgpu" })).key).toBe("webgpu");
    const missing = jest.spyOn(tensorflow, "unavailable").mockResolvedValue("its library is on another machine.");
    const { key, note } = await activateBackend(null, { device: "cuda" });
    missing.mockRestore();
    expect(key).toBe("webgpu");
    expect(note).toMatch(/since "tensorflow" cannot run here: its library is on another machine/);
    const square = tf.square(tf.tensor1d([1, 2, 3]));
    expect([...(await square.data())]).toEqual([1, 4, 9]);
  });

  it("has all that its adapter can", () => {
    const { device } = tf.backend() as unknown as { device: GPUDevice };
    // What devices have without being asked is 128 MiB.
    expect(device.limits.maxStorageBufferBindingSize).toBeGreaterThan(2 ** 27);
    expect(device.features.has("timestamp-query")).toBe(true);
  });

  it("refuses synchronous reads with what to do instead", () => {
    expect(() => tf.square(tf.scalar(2)).dataSync()).toThrow(
      expect.objectContaining({ code: "VERL_TENSOR_SYNC_READ" }),
    );
  });

  it("adds more tensors than a shader has bindings", async () => {
    const many = Array.from({ length: 40 }, (_, i) => tf.square(tf.tensor1d([i, 1])));
    const before = tf.memory().numTensors;
    const sum = tf.addN(many);
    expect([...(await sum.data())]).toEqual([20_540, 40]);
    expect(tf.memory().numTensors).toBe(before + 1);
  });

  it("fails at every read and write once the device is lost", async () => {
    const kept = tf.square(tf.tensor1d([1, 2]));
    const { device } = tf.backend() as unknown as { device: GPUDevice };
    device.destroy();
    await expect(kept.data()).rejects.toMatchObject({ code: "VERL_TENSOR_DEVICE_LOST" });
    expect(() => tf.tensor1d([1])).toThrow(expect.objectContaining({ code: "VERL_TENSOR_DEVICE_LOST" }));
  });
});
