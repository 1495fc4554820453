import { describe, expect, it } from "@jest/globals";
import { Builder } from "flatbuffers";
import fc from "fast-check";
import { DataProto, NdArray } from "../../core/batch/index.ts";
import { isVerlError } from "../../core/errors/verl-error.ts";
import { dataProto } from "./arbitraries.ts";

/** Reads bytes from a stranger: a batch, or the words of the one error that there may be. */
function read(bytes: Uint8Array): DataProto | string {
  try {
    return DataProto.fromArrow(bytes);
  } catch (error) {
    if (isVerlError(error) && error.code === "VERL_BATCH_ARROW") return error.message;
    throw error;
  }
}

/** What a batch holds in all, which the bytes have to pay for. */
function elements(batch: DataProto): number {
  const columns = [...batch.nonTensorBatch.values()].reduce((sum, column) => sum + column.length, 0);
  return [...batch.batch].reduce((sum, [, { data }]) => sum + data.length, columns);
}

const sample = (): Uint8Array =>
  DataProto.fromSingleDict(
    {
      ids: new NdArray("int32", [2, 3], Int32Array.of(1, 2, 3, 4, 5, 6)),
      score: Float32Array.of(0.5, 1),
      text: ["a", null],
      nested: [
        { list: [[1], []], flag: true },
        { list: [], flag: null },
      ],
    },
    { step: 1 },
  ).toArrow();

describe("Arrow bytes from strangers", () => {
  it("with any word of theirs replaced give a batch or the one error, in bounded time and memory", () => {
    const bytes = sample();
    const words = new Uint32Array([0, 1, 0x7fffffff, 0x80000000, 0xfffffff0, 0xffffffff, 0x00010000]);
    for (let at = 0; at + 4 <= bytes.length; at += 4) {
      for (const word of words) {
        const damaged = bytes.slice();
        new DataView(damaged.buffer).setUint32(at, word, true);
        const result = read(damaged);
        if (typeof result !== "string") expect(elements(result)).toBeLessThanOrEqual(bytes.length * 8 + 65_536);
      }
    }
  });

  it("with flipped bits and cut or doubled parts give a batch or the one error", () => {
    const damage = fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(dataProto, damage, fc.nat(), (batch, flips, cut) => {
        const bytes = batch.toArrow();
        const damaged = bytes.slice();
        for (const [at, mask] of flips) damaged[at % damaged.length]! ^= mask;
        read(damaged);
        read(bytes.slice(cut % bytes.length));
        read(bytes.slice(0, cut % bytes.length));
      }),
      { numRuns: 300 },
    );
  });

  it("of no order at all are refused", () => {
    fc.assert(fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => typeof read(bytes) === "string"));
  });

  it("may be followed by anything, which is not read", () => {
    const bytes = sample();
    const more = Buffer.concat([bytes, Buffer.alloc(64, 0x41)]);
    expect((read(more) as DataProto).equals(read(bytes) as DataProto)).toBe(true);
  });
});

interface FieldSpec {
  type: number;
  /** Writes the type's own table. */
  details?: (builder: Builder) => number;
  children?: number[];
}

/** A hand-written stream of one schema and one record batch, which a writer would never make. */
class Forged {
  static stream(
    fields: (builder: Builder) => number[],
    rows: { length: bigint; nodes: [bigint, bigint][]; buffers: [bigint, bigint][]; body?: number },
  ): Uint8Array {
    const schema = Forged.message(1, 0, (builder) => {
      const list = Forged.offsets(builder, fields(builder));
      builder.startObject(4);
      builder.addFieldOffset(1, list, 0);
      return builder.endObject();
    });
    const batch = Forged.message(3, rows.body ?? 0, (builder) => {
      const structs = (pairs: [bigint, bigint][]): number => {
        builder.startVector(16, pairs.length, 8);
        for (const [first, second] of [...pairs].reverse()) {
          builder.prep(8, 16);
          builder.writeInt64(second);
          builder.writeInt64(first);
        }
        return builder.endVector();
      };
      const buffers = structs(rows.buffers);
      const nodes = structs(rows.nodes);
      builder.startObject(5);
      builder.addFieldInt64(0, rows.length, 0n);
      builder.addFieldOffset(1, nodes, 0);
      builder.addFieldOffset(2, buffers, 0);
      return builder.endObject();
    });
    return Buffer.concat([schema, batch, Buffer.alloc(rows.body ?? 0)]);
  }

  static field(builder: Builder, { type, details, children = [] }: FieldSpec): number {
    const name = builder.createString("c");
    const own = details?.(builder) ?? Forged.empty(builder);
    const list = Forged.offsets(builder, children);
    builder.startObject(7);
    builder.addFieldOffset(0, name, 0);
    builder.addFieldInt8(2, type, 0);
    builder.addFieldOffset(3, own, 0);
    builder.addFieldOffset(5, list, 0);
    return builder.endObject();
  }

  static fixedSizeList =
    (size: number) =>
    (builder: Builder): number => {
      builder.startObject(1);
      builder.addFieldInt32(0, size, 0);
      return builder.endObject();
    };

  static int32 = (builder: Builder): number => {
    builder.startObject(2);
    builder.addFieldInt32(0, 32, 0);
    builder.addFieldInt8(1, 1, 0);
    return builder.endObject();
  };

  private static empty(builder: Builder): number {
    builder.startObject(0);
    return builder.endObject();
  }

  private static offsets(builder: Builder, list: number[]): number {
    builder.startVector(4, list.length, 4);
    for (const offset of [...list].reverse()) builder.addOffset(offset);
    return builder.endVector();
  }

  private static message(type: number, body: number, content: (builder: Builder) => number): Uint8Array {
    const builder = new Builder();
    const header = content(builder);
    builder.startObject(5);
    builder.addFieldInt16(0, 4, 0);
    builder.addFieldInt8(1, type, 0);
    builder.addFieldOffset(2, header, 0);
    builder.addFieldInt64(3, BigInt(body), 0n);
    builder.finish(builder.endObject());
    const flat = builder.asUint8Array();
    const padded = Buffer.alloc(8 + Math.ceil(flat.length / 8) * 8);
    padded.writeUInt32LE(0xffffffff, 0);
    padded.writeUInt32LE(padded.length - 8, 4);
    padded.set(flat, 8);
    return padded;
  }
}

const [NULL, INT, LIST_OF_N, STRUCT] = [1, 2, 16, 13];
const column = (spec: FieldSpec) => (builder: Builder) => [Forged.field(builder, spec)];
const int = column({ type: INT, details: Forged.int32 });

describe("forged Arrow headers", () => {
  it("that are honest are read, so that the others are refused for what they claim", () => {
    const bytes = Forged.stream(int, {
      length: 2n,
      nodes: [[2n, 0n]],
      buffers: [
        [0n, 0n],
        [0n, 8n],
      ],
      body: 8,
    });
    expect([...(read(bytes) as DataProto).tensor("c", "int32").data]).toEqual([0, 0]);
  });

  it.each<[string, Uint8Array, string]>([
    [
      "more rows than bytes",
      Forged.stream(column({ type: NULL }), { length: 1n << 40n, nodes: [[1n << 40n, 1n << 40n]], buffers: [] }),
      "more than the bytes can hold",
    ],
    ["rows of nothing", Forged.stream(() => [], { length: 1n << 40n, nodes: [], buffers: [] }), "rows of nothing"],
    [
      "a buffer behind the body",
      Forged.stream(int, {
        length: 2n,
        nodes: [[2n, 0n]],
        buffers: [
          [0n, 0n],
          [8n, 8n],
        ],
        body: 8,
      }),
      "a buffer outside of its place",
    ],
    [
      "a buffer before the body",
      Forged.stream(int, {
        length: 2n,
        nodes: [[2n, 0n]],
        buffers: [
          [0n, 0n],
          [-8n, 8n],
        ],
        body: 8,
      }),
      "a size is -8",
    ],
    [
      "a buffer that is too short",
      Forged.stream(int, {
        length: 4n,
        nodes: [[4n, 0n]],
        buffers: [
          [0n, 0n],
          [0n, 8n],
        ],
        body: 8,
      }),
      "is cut short",
    ],
    [
      "one buffer for two columns",
      Forged.stream((builder) => [...int(builder), ...int(builder)], {
        length: 2n,
        nodes: [
          [2n, 0n],
          [2n, 0n],
        ],
        buffers: [
          [0n, 0n],
          [0n, 8n],
          [0n, 0n],
          [0n, 8n],
        ],
        body: 8,
      }),
      "a buffer outside of its place",
    ],
    [
      "fewer items than a fixed-size list needs",
      Forged.stream(
        (builder) => {
          const item = Forged.field(builder, { type: INT, details: Forged.int32 });
          return [
            Forged.field(builder, { type: LIST_OF_N, details: Forged.fixedSizeList(2 ** 31 - 1), children: [item] }),
          ];
        },
        {
          length: 1n,
          nodes: [
            [1n, 0n],
            [2n, 0n],
          ],
          buffers: [
            [0n, 0n],
            [0n, 0n],
            [0n, 8n],
          ],
          body: 8,
        },
      ),
      "is cut short",
    ],
    [
      "a field that is its children's child over and over",
      Forged.stream(
        (builder) => {
          let field = Forged.field(builder, { type: NULL });
          for (let level = 0; level < 40; level++)
            field = Forged.field(builder, { type: STRUCT, children: [field, field, field, field] });
          return [field];
        },
        { length: 0n, nodes: [], buffers: [] },
      ),
      "over and over",
    ],
    [
      "nesting without end",
      Forged.stream(
        (builder) => {
          let field = Forged.field(builder, { type: NULL });
          for (let level = 0; level < 100; level++) field = Forged.field(builder, { type: STRUCT, children: [field] });
          return [field];
        },
        { length: 0n, nodes: [], buffers: [] },
      ),
      "nested deeper than",
    ],
    [
      "buffers that belong to no column",
      Forged.stream(int, {
        length: 0n,
        nodes: [[0n, 0n]],
        buffers: [
          [0n, 0n],
          [0n, 0n],
          [0n, 0n],
        ],
      }),
      "belong to no column",
    ],
  ])("are refused: %s", (_, bytes, words) => {
    expect(read(bytes)).toContain(words);
  });
});
