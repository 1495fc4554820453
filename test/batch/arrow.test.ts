import { describe, expect, it } from "@jest/globals";
import { MessageReader, Table, tableFromArrays, tableFromIPC, tableToIPC, vectorFromArray } from "apache-arrow";
import { DataProto, NdArray } from "../../core/batch/index.ts";
import { isVerlError } from "../../core/errors/verl-error.ts";

const codeOf = (act: () => unknown): string => {
  try {
    act();
  } catch (error) {
    if (isVerlError(error)) return error.code;
    throw error;
  }
  return "nothing thrown";
};

const sample = (): DataProto =>
  DataProto.fromSingleDict(
    {
      input_ids: new NdArray("int32", [2, 3], Int32Array.of(1, 2, 3, 4, 5, 6)),
      position: new NdArray("int64", [2, 1, 2], BigInt64Array.of(1n, 2n, 3n, 4n)),
      scores: Float32Array.of(0.5, NaN),
      kept: new NdArray("bool", [2], Uint8Array.of(1, 0)),
      uid: ["a", "b"],
      extra_info: [
        { index: 1, split: "train" },
        { index: 2, split: null },
      ],
      mixed: [1, "one"],
      turns: [Int32Array.of(7, 8), new Int32Array(0)],
      huge: [2n ** 62n, -1n],
    },
    { step: 2n ** 60n, temperature: 0.5 },
  );

describe("Arrow bytes", () => {
  it("are read as views of themselves", () => {
    const bytes = sample().toArrow();
    const read = DataProto.fromArrow(bytes);
    for (const [, array] of read.batch) expect(array.data.buffer).toBe(bytes.buffer);
    expect(read.equals(sample())).toBe(true);
  });

  it("are read from an unaligned place too", () => {
    const bytes = sample().toArrow();
    const shifted = new Uint8Array(bytes.length + 3);
    shifted.set(bytes, 3);
    expect(DataProto.fromArrow(shifted.subarray(3)).equals(sample())).toBe(true);
  });

  it("go to memory that is offered, if it is large enough", () => {
    const memory = new Uint8Array(1 << 16);
    expect(sample().toArrow({ into: memory }).buffer).toBe(memory.buffer);
    expect(DataProto.fromArrow(sample().toArrow({ into: new Uint8Array(8) })).equals(sample())).toBe(true);
  });

  it("hold columns that any Arrow reader understands", () => {
    const table = tableFromIPC(sample().toArrow());
    const types = Object.fromEntries(table.schema.fields.map((field) => [field.name, String(field.type)]));
    expect(types).toEqual({
      input_ids: "FixedSizeList[3]<Int32>",
      position: "FixedSizeList[2]<Int64>",
      scores: "Float32",
      kept: "Uint8",
      uid: "Utf8",
      extra_info: "Struct<{index:Int32, split:Utf8}>",
      mixed: "Utf8",
      turns: "List<Int32>",
      huge: "Int64",
    });
    const position = table.schema.fields[1]!.metadata;
    expect(position.get("ARROW:extension:name")).toBe("arrow.fixed_shape_tensor");
    expect(position.get("ARROW:extension:metadata")).toBe('{"shape":[1,2]}');
  });

  it.each(["stream", "file"] as const)("of other writers are read: %s, several record batches", (format) => {
    const table = tableFromArrays({
      ids: Int32Array.of(1, 2, 3),
      word: ["x", "y", "z"],
      half: Float64Array.of(0.5, 1, 2),
    });
    const bytes = tableToIPC(table.slice(0, 2).concat(table.slice(2)), format);
    // tableFromArrays makes dictionaries of strings, which stand for a type without a reading.
    expect(codeOf(() => DataProto.fromArrow(bytes))).toBe("VERL_BATCH_ARROW");
    const plain = table.select(["ids", "half"]);
    const read = DataProto.fromArrow(tableToIPC(plain.slice(0, 2).concat(plain.slice(2)), format));
    expect([...read.tensor("ids", "int32").data]).toEqual([1, 2, 3]);
    expect(read.column("half")).toEqual([0.5, 1, 2]);
  });

  it("of other writers may hold structs in lists, and no rows", () => {
    const values = [
      { a: 1, b: [{ c: 2 }, { c: 3 }] },
      { a: 4, b: [] },
    ];
    const table = new Table({ st: vectorFromArray(values) });
    expect(DataProto.fromArrow(tableToIPC(table)).column("st")).toEqual(values);
    expect(DataProto.fromArrow(tableToIPC(table.slice(0, 0))).length).toBe(0);
  });

  it("refuse what has no place in them, naming column and row", () => {
    const data = DataProto.fromSingleDict({ c: [1, (): number => 1] });
    expect(() => data.toArrow()).toThrow(/Column "c", row 1, holds a function/);
    const loop: unknown[] = [];
    loop.push(loop);
    expect(codeOf(() => DataProto.fromSingleDict({ c: [loop] }).toArrow())).toBe("VERL_BATCH_ARROW");
    expect(codeOf(() => DataProto.fromSingleDict({ "": [1] }).toArrow())).toBe("VERL_BATCH_ARROW");
    expect(() => new DataProto({ metaInfo: { hook: new Map() } }).toArrow()).toThrow(
      /metaInfo holds an instance of Map/,
    );
  });

  it("that are cut short anywhere are refused, never half read", () => {
    const bytes = sample().toArrow();
    for (let length = 0; length < bytes.length - 8; length += 8) {
      expect(codeOf(() => DataProto.fromArrow(bytes.slice(0, length)))).toBe("VERL_BATCH_ARROW");
    }
  });

  it("with damaged contents give a batch or a coded error", () => {
    const bytes = sample().toArrow();
    const messages = new MessageReader(bytes);
    messages.readSchema();
    const { bodyLength } = messages.readMessage()!;
    for (let i = bytes.length - 8 - bodyLength; i < bytes.length - 8; i++) {
      const damaged = bytes.slice();
      damaged[i]! ^= 0xff;
      expect(["VERL_BATCH_ARROW", "nothing thrown"]).toContain(codeOf(() => DataProto.fromArrow(damaged)));
    }
  });

  it("keep a key named __proto__ as a key", () => {
    const data = DataProto.fromSingleDict({ c: [JSON.parse('{"__proto__": {"polluted": 1}}')] });
    const [row] = DataProto.fromArrow(data.toArrow()).column("c") as object[];
    expect(Object.keys(row!)).toEqual(["__proto__"]);
    expect("polluted" in {}).toBe(false);
  });
});
