import type { DType, Values } from "../value.ts";
import { encodeModel, type NodeAttribute, type OnnxModel, type OnnxType } from "./model.ts";

export const ONNX_TYPE = { float32: 1, int32: 6, int64: 7, bool: 9 } as const satisfies Record<
  DType | "int64",
  OnnxType
>;

/** Collects the nodes of one ONNX graph. Values are named by strings; equal constants are stored once. */
export class GraphBuilder {
  readonly #model: OnnxModel = { nodes: [], initializers: [], inputs: [], outputs: [] };
  readonly #constants = new Map<string, string>();
  #temporaries = 0;

  get nodeCount(): number {
    return this.#model.nodes.length;
  }

  /** Adds a node that writes `out`. */
  node(
    type: string,
    inputs: readonly string[],
    out: string | readonly string[],
    attributes: Record<string, NodeAttribute> = {},
  ): void {
    this.#model.nodes.push({ type, inputs, outputs: typeof out === "string" ? [out] : out, attributes });
  }

  /** Adds a node in the middle of a lowering and returns the name of what it writes. */
  apply(type: string, inputs: readonly string[], attributes?: Record<string, NodeAttribute>): string {
    const out = this.temporary();
    this.node(type, inputs, out, attributes);
    return out;
  }

  cast(input: string, dtype: DType | "int64"): string {
    return this.apply("Cast", [input], { to: ONNX_TYPE[dtype] });
  }

  temporary(): string {
    return `t${this.#temporaries++}`;
  }

  input(name: string, dtype: DType, shape: readonly number[]): void {
    this.#model.inputs.push({ name, type: ONNX_TYPE[dtype], shape });
  }

  output(name: string, dtype: DType, shape: readonly number[]): void {
    this.#model.outputs.push({ name, type: ONNX_TYPE[dtype], shape });
  }

  constant(values: Values, dtype: DType, shape: readonly number[]): string {
    return this.#constant(ONNX_TYPE[dtype], shape, new Uint8Array(values.buffer, values.byteOffset, values.byteLength));
  }

  scalar(value: number, dtype: DType = "float32"): string {
    const values =
      dtype === "float32" ? Float32Array.of(value) : dtype === "int32" ? Int32Array.of(value) : Uint8Array.of(value);
    return this.constant(values, dtype, []);
  }

  /** A one-dimensional int64 constant, the form in which ONNX takes axes, shapes and indices. */
  ints(values: readonly number[]): string {
    return this.#constant(ONNX_TYPE.int64, [values.length], new Uint8Array(BigInt64Array.from(values, BigInt).buffer));
  }

  encode(): Uint8Array<ArrayBuffer> {
    return encodeModel(this.#model);
  }

  #constant(type: OnnxType, shape: readonly number[], bytes: Uint8Array): string {
    const key = `${type}:${shape.join()}:${Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64")}`;
    let name = this.#constants.get(key);
    if (name === undefined) {
      name = `c${this.#constants.size}`;
      this.#constants.set(key, name);
      this.#model.initializers.push({ name, type, shape, bytes });
    }
    return name;
  }
}
