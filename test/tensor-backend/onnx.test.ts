import { describe, expect, it } from "@jest/globals";
import { GraphBuilder } from "../../plugins/tensor-backend/ort/onnx/graph.ts";
import { ProtobufWriter } from "../../plugins/tensor-backend/ort/onnx/protobuf.ts";
import { Session } from "../../plugins/tensor-backend/ort/session.ts";

const bytes = (write: (writer: ProtobufWriter) => void): number[] => {
  const writer = new ProtobufWriter(1);
  write(writer);
  return [...writer.finish()];
};

describe("protocol buffers", () => {
  it.each([
    [0, [8, 0]],
    [1, [8, 1]],
    [127, [8, 127]],
    [128, [8, 128, 1]],
    [300, [8, 172, 2]],
    [2 ** 31, [8, 128, 128, 128, 128, 8]],
    [-1, [8, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1]],
  ])("write the integer %i", (value, expected) => {
    expect(bytes((writer) => writer.integer(1, value))).toEqual(expected);
  });

  it("write floats, strings and nested messages", () => {
    expect(bytes((writer) => writer.float(2, 1))).toEqual([21, 0, 0, 128, 63]);
    expect(bytes((writer) => writer.string(3, "é"))).toEqual([26, 2, 195, 169]);
    expect(bytes((writer) => writer.message(1, (nested) => nested.integer(20, 5)))).toEqual([10, 3, 160, 1, 5]);
  });

  it("write messages longer than 127 bytes", () => {
    const [tag, low, high, ...rest] = bytes((writer) => writer.bytes(1, new Uint8Array(300).fill(9)));
    expect([tag, low, high, rest.length]).toEqual([10, 172, 2, 300]);
  });
});

describe("graphs", () => {
  it("run: attributes of each type, constants, a contributed kernel", () => {
    const graph = new GraphBuilder();
    const shape = [2, 2];
    graph.input("x", "float32", shape);
    const leaky = graph.apply("LeakyRelu", ["x"], { alpha: { float: 0.5 } });
    const turned = graph.apply("Transpose", [leaky], { perm: [1, 0] });
    const product = graph.apply("com.microsoft.FusedMatMul", [turned, "x"], { transA: 1 });
    const summed = graph.apply("Einsum", [product], { equation: "ij->j" });
    graph.node("Add", [summed, graph.scalar(10)], "y");
    graph.output("y", "float32", [2]);
    const input = { name: "x", dtype: "float32" as const, shape };
    const session = new Session(graph.encode(), [input], ["y"], { threads: 1 });
    const [y] = session.run([Float32Array.of(1, -2, 3, 4)]);
    // leaky = [[1, −1], [3, 4]]; its columns summed over rows of (leaky · x).
    expect([...y!]).toEqual([1 * 4 + 3 * 3 + 10, -2 * 4 + 4 * 3 + 10]);
    session.dispose();
  });

  it("store equal constants once", () => {
    const graph = new GraphBuilder();
    expect(graph.ints([1, 2])).toBe(graph.ints([1, 2]));
    expect(graph.scalar(0)).not.toBe(graph.scalar(0, "int32"));
    expect(graph.scalar(0)).not.toBe(graph.scalar(-0));
  });
});
