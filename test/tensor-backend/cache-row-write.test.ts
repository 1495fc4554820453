import { describe, expect, it } from "@jest/globals";
import * as tf from "@tensorflow/tfjs";
import fc from "fast-check";
import { cacheRowWrite } from "../../core/tensor/backend-cache-row-write.ts";
import { on, ort, read } from "./on-backends.ts";

/** What it should do, element by element. */
function expected(
  cache: number[],
  rows: number[],
  [outer, length, inner]: [number, number, number],
  count: number,
  position: number,
): number[] {
  const result = [...cache];
  for (let o = 0; o < outer; o++) {
    for (let r = 0; r < count; r++) {
      for (let i = 0; i < inner; i++)
        result[(o * length + position + r) * inner + i] = rows[(o * count + r) * inner + i]!;
    }
  }
  return result;
}

describe("cacheRowWrite", () => {
  it.each(["ort", "cpu"] as const)("replaces rows and nothing else, on %s", (backend) => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 4 }),
        fc.integer({ min: 1, max: 5 }),
        fc.integer({ min: 1, max: 3 }),
        fc.nat(),
        fc.nat(),
        (outer, length, inner, c, p) => {
          const count = 1 + (c % length);
          const position = p % (length - count + 1);
          const cache = Array.from({ length: outer * length * inner }, (_, i) => i);
          const rows = Array.from({ length: outer * count * inner }, (_, i) => -1 - i);
          const written = on(backend, () =>
            read(
              cacheRowWrite(
                tf.tensor(cache, [outer, length, inner]),
                tf.tensor(rows, [outer, count, inner]),
                tf.scalar(position, "int32"),
              ),
            ),
          );
          expect(written.values).toEqual(expected(cache, rows, [outer, length, inner], count, position));
        },
      ),
      { numRuns: 25, seed: 3 },
    );
  });

  it("leaves the old cache as it was", () => {
    const cache = tf.zeros([2, 12, 3]);
    const written = cacheRowWrite(cache, tf.ones([2, 1, 3]), tf.scalar(4, "int32"));
    expect(tf.sum(written).dataSync()[0]).toBe(6);
    expect(tf.sum(cache).dataSync()[0]).toBe(0);
    tf.dispose([cache, written]);
  });

  it("decodes in one graph for all positions, and in one graph for many tokens", () => {
    const decode = (perFlush: number) => {
      let cache: tf.Tensor = tf.zeros([2, 8, 3]);
      for (let t = 0; t < 8; t++) {
        const next = tf.tidy(() => cacheRowWrite(cache, tf.fill([2, 1, 3], t + 1), tf.scalar(t, "int32")));
        cache.dispose();
        cache = next;
        if (t % perFlush === perFlush - 1) ort.flush();
      }
      const values = [...cache.dataSync()];
      cache.dispose();
      return values;
    };
    const before = ort.stats.compiles;
    const one = decode(1);
    expect(ort.stats.compiles - before).toBeLessThanOrEqual(3);
    expect(decode(8)).toEqual(one);
    expect(one.slice(0, 24)).toEqual(Array.from({ length: 24 }, (_, i) => 1 + Math.floor(i / 3)));
  });
});
