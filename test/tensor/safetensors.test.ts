import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { readSafetensors, safetensorsChunks, type StoredArray } from "../../core/tensor/safetensors.ts";

let dir: string;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "verl-safetensors-"));
});
afterAll(() => rm(dir, { recursive: true, force: true }));

async function read(bytes: Uint8Array, only?: ReadonlySet<string>) {
  const path = join(dir, "x.safetensors");
  await writeFile(path, bytes);
  return readSafetensors(path, only);
}

/** A file with the given header (JSON text or value) and data. */
function fileOf(header: unknown, data: Uint8Array): Buffer {
  const json = Buffer.from(typeof header === "string" ? header : JSON.stringify(header));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(json.length));
  return Buffer.concat([length, json, data]);
}

const words = (...values: number[]) => new Uint8Array(Uint16Array.from(values).buffer);

const stored: fc.Arbitrary<StoredArray> = fc.oneof(
  fc.array(fc.float()).map((v) => ({ dtype: "float32" as const, shape: [v.length], data: Float32Array.from(v) })),
  fc.array(fc.integer()).map((v) => ({ dtype: "int32" as const, shape: [1, v.length], data: Int32Array.from(v) })),
  fc.array(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })).map((v) => ({
    dtype: "int64" as const,
    shape: [v.length, 1],
    data: BigInt64Array.from(v),
  })),
  fc.uint8Array().map((data) => ({ dtype: "uint8" as const, shape: [data.length], data })),
  fc.constant({ dtype: "bool" as const, shape: [], data: Uint8Array.of(1) }),
);

describe("safetensors", () => {
  it("gives back what was written", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(fc.tuple(fc.string({ minLength: 1 }), stored), { selector: ([name]) => name }),
        async (pairs) => {
          const arrays = new Map(pairs);
          const file = await read(Buffer.concat(safetensorsChunks(arrays, { format: "pt" })));
          expect(file.metadata).toEqual({ format: "pt" });
          expect(file.arrays).toEqual(arrays);
        },
      ),
      { numRuns: 60 },
    );
  });

  it("writes what other readers expect: length, padded JSON, data in order", () => {
    const chunks = safetensorsChunks(
      new Map([["w", { dtype: "float32", shape: [1, 2], data: Float32Array.of(1, 2) }]]),
    );
    const bytes = Buffer.concat(chunks);
    const length = Number(bytes.readBigUInt64LE(0));
    expect(length % 8).toBe(0);
    expect(JSON.parse(bytes.subarray(8, 8 + length).toString())).toEqual({
      w: { dtype: "F32", shape: [1, 2], data_offsets: [0, 8] },
    });
    expect(bytes.length).toBe(8 + length + 8);
    expect(bytes.readFloatLE(8 + length + 4)).toBe(2);
  });

  it("widens F16 exactly: normals, subnormals, zeros, infinities, NaN", async () => {
    const halves = words(0x3c00, 0xc000, 0x7bff, 0x0400, 0x03ff, 0x0001, 0x8000, 0x7c00, 0xfc00, 0x7e00);
    const { arrays } = await read(fileOf({ h: { dtype: "F16", shape: [10], data_offsets: [0, 20] } }, halves));
    expect([...(arrays.get("h")!.data as Float32Array)]).toEqual(
      [1, -2, 65504, 2 ** -14, 1023 * 2 ** -24, 2 ** -24, -0, Infinity, -Infinity, Number.NaN], // prettier-ignore
    );
  });

  it("widens BF16 exactly", async () => {
    const { arrays } = await read(
      fileOf({ b: { dtype: "BF16", shape: [3], data_offsets: [0, 6] } }, words(0x3f80, 0xc049, 0x0001)),
    );
    expect([...(arrays.get("b")!.data as Float32Array)]).toEqual([1, -3.140625, 2 ** -133]);
  });

  it("reads the named arrays only, and names one that is not there", async () => {
    const bytes = Buffer.concat(safetensorsChunks(new Map([
      ["a", { dtype: "uint8", shape: [1], data: Uint8Array.of(1) }],
      ["b", { dtype: "uint8", shape: [1], data: Uint8Array.of(2) }],
    ]))); // prettier-ignore
    expect([...(await read(bytes, new Set(["b"]))).arrays.keys()]).toEqual(["b"]);
    await expect(read(bytes, new Set(["c"]))).rejects.toMatchObject({
      message: expect.stringContaining('no array named "c"'),
    });
  });

  const f32 = (begin: number, end: number, shape = [(end - begin) / 4]) => ({
    dtype: "F32",
    shape,
    data_offsets: [begin, end],
  });
  it.each([
    ["a file of 3 bytes", Buffer.of(1, 2, 3), /3 bytes, fewer than the 8/],
    ["a header longer than the file", Buffer.from([0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f]), /header claims/],
    ["a header that is no JSON", fileOf("{", Buffer.alloc(0)), /not JSON/],
    ["a header that is no object", fileOf([], Buffer.alloc(0)), /not a JSON object/],
    [
      "an unknown element type",
      fileOf({ a: { dtype: "F8_E4M3", shape: [1], data_offsets: [0, 1] } }, Buffer.alloc(1)),
      /F8_E4M3; readable are F32/,
    ],
    [
      "an element type that is an object's own word",
      fileOf({ a: { dtype: "constructor", shape: [1], data_offsets: [0, 1] } }, Buffer.alloc(1)),
      /element type constructor/,
    ],
    ["a negative extent", fileOf({ a: f32(0, 4, [-1]) }, Buffer.alloc(4)), /no valid shape/],
    [
      "a shape that does not fit its offsets",
      fileOf({ a: f32(0, 4, [2]) }, Buffer.alloc(4)),
      /needs 8 bytes, its offsets give 4/,
    ],
    [
      "a shape whose product overflows",
      fileOf({ a: f32(0, 4, [2 ** 52, 2 ** 52]) }, Buffer.alloc(4)),
      /its offsets give 4/,
    ],
    ["data cut short", fileOf({ a: f32(0, 8) }, Buffer.alloc(4)), /take 8 bytes, but 4 follow/],
    [
      "arrays that overlap",
      fileOf({ a: f32(0, 8), b: f32(4, 12) }, Buffer.alloc(12)),
      /"b" starts at byte 4 of the data, expected 8/,
    ],
    [
      "a hole between arrays",
      fileOf({ a: f32(0, 4), b: f32(8, 12) }, Buffer.alloc(12)),
      /starts at byte 8 of the data, expected 4/,
    ],
    ["an entry that is null", fileOf({ a: null }, Buffer.alloc(0)), /element type undefined/],
  ])("refuses %s", async (_, bytes, message) => {
    await expect(read(bytes)).rejects.toMatchObject({
      code: "VERL_SAFETENSORS_FORMAT",
      message: expect.stringMatching(message),
    });
  });
});
