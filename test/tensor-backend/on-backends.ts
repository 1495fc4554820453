import { afterAll, jest } from "@jest/globals";
import * as tf from "@tensorflow/tfjs";
import { registerOrt } from "../../plugins/tensor-backend/ort/register-ort.ts";
import type { OrtBackend } from "../../plugins/tensor-backend/ort/backend.ts";

tf.enableProdMode();

/** The backend under test, the same for all tests of a file. */
export const ort: OrtBackend = registerOrt({ threads: 2 });

/** Runs `body` on a backend, and forgets its tensors. */
export function on<T>(backend: "ort" | "cpu", body: () => T): T {
  void tf.setBackend(backend);
  try {
    let result: T | undefined;
    tf.tidy(() => void (result = body()));
    return result as T;
  } finally {
    void tf.setBackend("ort");
  }
}

export interface Result {
  shape: number[];
  dtype: string;
  values: number[];
}

export const read = (tensor: tf.Tensor): Result => ({
  shape: tensor.shape,
  dtype: tensor.dtype,
  values: [...tensor.dataSync()],
});

/** What a function of tensors gives on a backend. */
export function resultsOn(backend: "ort" | "cpu", body: () => tf.Tensor | tf.Tensor[]): Result[] {
  return on(backend, () => {
    const outputs = body();
    return (Array.isArray(outputs) ? outputs : [outputs]).map(read);
  });
}

/** The first difference beyond `tolerance` (relative above 1, absolute below), or undefined. */
export function difference(actual: Result[], expected: Result[], tolerance: number): string | undefined {
  if (actual.length !== expected.length) return `${actual.length} outputs, not ${expected.length}`;
  for (let o = 0; o < actual.length; o++) {
    const a = actual[o]!;
    const e = expected[o]!;
    if (a.dtype !== e.dtype) return `dtype ${a.dtype}, not ${e.dtype}`;
    if (a.shape.join() !== e.shape.join()) return `shape [${a.shape.join()}], not [${e.shape.join()}]`;
    for (let i = 0; i < e.values.length; i++) {
      const x = a.values[i]!;
      const y = e.values[i]!;
      const close = Object.is(x, y) || x === y || Math.abs(x - y) <= tolerance * Math.max(1, Math.abs(y));
      if (!close) return `element ${i} is ${x}, not ${y}`;
    }
  }
  return undefined;
}

/** Whatever the tests of a file warn about, for instance a kernel that is not recorded. */
export function collectWarnings(): string[] {
  const warnings: string[] = [];
  const warn = jest.spyOn(console, "warn").mockImplementation((message) => void warnings.push(String(message)));
  afterAll(() => warn.mockRestore());
  return warnings;
}
