import { afterAll, beforeAll, describe, expect, it, jest } from "@jest/globals";
import * as tf from "@tensorflow/tfjs";
import { registries } from "../../core/registry/index.ts";
import { activateBackend } from "../../core/tensor/backend.ts";
import { tensorBackends } from "../../plugins/tensor-backend/index.ts";
import { whyNot } from "../../plugins/tensor-backend/ort/why-not.ts";
import { physicalCores } from "../../plugins/tensor-backend/physical-cores.ts";

const backends = Object.fromEntries(tensorBackends.map(({ key, entry }) => [key, entry]));
const sum = () => tf.tidy(() => tf.sum(tf.tensor1d([1, 2, 3])).dataSync()[0]);

beforeAll(() => {
  for (const { kind, key, entry } of tensorBackends) registries[kind].register(key, entry);
});
afterAll(async () => {
  await tf.setBackend("cpu");
});

describe("why ort cannot run", () => {
  it.each([
    [
      "MODULE_NOT_FOUND",
      "Cannot find module 'onnxruntime-node/dist/binding.js'\nRequire stack:",
      /not installed. Run `npm install/,
    ],
    [
      "MODULE_NOT_FOUND",
      "Cannot find module '../bin/napi-v6/sunos/x64/onnxruntime_binding.node'",
      /no binary for \w+-\w+. Use/,
    ],
    ["ERR_DLOPEN_FAILED", "ld-linux-x86-64.so.2: cannot open shared object file", /does not load \(ld-linux.*glibc/],
  ])("is told from %s: %s", (code, message, expected) => {
    expect(whyNot(Object.assign(new Error(message), { code }))).toMatch(expected);
  });

  it("is nothing here", async () => {
    expect(await backends["ort"]!.unavailable()).toBeUndefined();
  });
});

describe("the tensor backend", () => {
  it("is ort where nothing is configured and ort can run", async () => {
    const { key, note } = await activateBackend(null);
    expect([key, tf.getBackend(), sum()]).toEqual(["ort", "ort", 6]);
    expect(note).toMatch(/^Tensor backend: ort/);
  });

  it.each(["wasm", "cpu", "ort"])("is %s where that is configured", async (key) => {
    const { note } = await activateBackend(key, { threads: 1 });
    expect([tf.getBackend(), sum()]).toEqual([key, 6]);
    expect(note).toContain(key);
  });

  it.each(["ort", "wasm", "cpu"])("differentiates a gather on %s, with batches and without", async (key) => {
    await activateBackend(key);
    const gradient = (indices: number[][], axis: number, batchDims: number) =>
      tf.tidy(() => {
        const ids = tf.tensor2d(indices, undefined, "int32");
        const at = tf.tensor2d([[1, 2, 3], [4, 5, 6]]); // prettier-ignore
        return [
          ...tf
            .grad((x) => tf.sum<tf.Scalar>(tf.square(tf.gather(x, ids, axis, batchDims))))(at)
            .dataSync(),
        ];
      });
    expect(gradient([[1], [1]], 0, 0)).toEqual([0, 0, 0, 16, 20, 24]);
    expect(gradient([[2, 2], [0, 1]], 1, 1)).toEqual([0, 0, 12, 8, 10, 0]); // prettier-ignore
  });

  it("is the next best where ort cannot run, and the note says why", async () => {
    const missing = jest.spyOn(backends["ort"]!, "unavailable").mockResolvedValue("there is no binary for plan9-vax.");
    const { key, note } = await activateBackend(null);
    expect(key).toBe("wasm");
    expect(note).toMatch(/wasm.*"ort" cannot run here: there is no binary for plan9-vax/);
    await expect(activateBackend("ort")).rejects.toMatchObject({ code: "VERL_TENSOR_BACKEND_UNAVAILABLE" });
    missing.mockRestore();
  });

  it("that nobody knows is refused with the nearest name", async () => {
    await expect(activateBackend("otr")).rejects.toMatchObject({ code: "VERL_REGISTRY_KEY_UNKNOWN" });
  });

  it("takes physical cores", () => {
    expect(physicalCores()).toBeGreaterThanOrEqual(1);
    expect(Number.isInteger(physicalCores())).toBe(true);
  });
});
