import { ProtobufWriter } from "./protobuf.ts";

/** TensorProto.DataType: float 1, int32 6, int64 7, bool 9. */
export type OnnxType = 1 | 6 | 7 | 9;
/** Integers are ONNX ints, `{ float }` a float: JavaScript's numbers do not tell them apart. */
export type NodeAttribute = number | string | readonly number[] | { readonly float: number };

export interface OnnxNode {
  readonly type: string;
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  readonly attributes: Readonly<Record<string, NodeAttribute>>;
}
export interface OnnxTensor {
  readonly name: string;
  readonly type: OnnxType;
  readonly shape: readonly number[];
}
export interface OnnxInitializer extends OnnxTensor {
  readonly bytes: Uint8Array;
}
export interface OnnxModel {
  readonly nodes: OnnxNode[];
  readonly initializers: OnnxInitializer[];
  readonly inputs: OnnxTensor[];
  readonly outputs: OnnxTensor[];
}

const IR_VERSION = 10;
const OPSET = 20;
/** Kernels of onnxruntime that the standard lacks; their node types are written here as `com.microsoft.Name`. */
const CONTRIB_DOMAIN = "com.microsoft";

/** The bytes of an ONNX ModelProto. Field numbers are those of onnx.proto. */
export function encodeModel(model: OnnxModel): Uint8Array<ArrayBuffer> {
  const writer = new ProtobufWriter();
  writer.integer(1, IR_VERSION);
  writer.message(7, (graph) => {
    for (const node of model.nodes) graph.message(1, (message) => writeNode(message, node));
    graph.string(2, "tape");
    for (const tensor of model.initializers) graph.message(5, (message) => writeInitializer(message, tensor));
    for (const tensor of model.inputs) graph.message(11, (message) => writeValueInfo(message, tensor));
    for (const tensor of model.outputs) graph.message(12, (message) => writeValueInfo(message, tensor));
  });
  writer.message(8, (opset) => opset.integer(2, OPSET));
  writer.message(8, (opset) => {
    opset.string(1, CONTRIB_DOMAIN);
    opset.integer(2, 1);
  });
  return writer.finish();
}

function writeNode(writer: ProtobufWriter, node: OnnxNode): void {
  for (const input of node.inputs) writer.string(1, input);
  for (const output of node.outputs) writer.string(2, output);
  const dot = node.type.lastIndexOf(".");
  writer.string(4, node.type.slice(dot + 1));
  for (const [name, value] of Object.entries(node.attributes))
    writer.message(5, (message) => writeAttribute(message, name, value));
  if (dot > 0) writer.string(7, node.type.slice(0, dot));
}

function writeAttribute(writer: ProtobufWriter, name: string, value: NodeAttribute): void {
  const FLOAT = 1;
  const INT = 2;
  const STRING = 3;
  const INTS = 7;
  writer.string(1, name);
  if (typeof value === "number") {
    writer.integer(3, value);
    writer.integer(20, INT);
  } else if (typeof value === "string") {
    writer.string(4, value);
    writer.integer(20, STRING);
  } else if ("float" in value) {
    writer.float(2, value.float);
    writer.integer(20, FLOAT);
  } else {
    for (const item of value) writer.integer(8, item);
    writer.integer(20, INTS);
  }
}

function writeInitializer(writer: ProtobufWriter, tensor: OnnxInitializer): void {
  for (const dim of tensor.shape) writer.integer(1, dim);
  writer.integer(2, tensor.type);
  writer.string(8, tensor.name);
  writer.bytes(9, tensor.bytes);
}

function writeValueInfo(writer: ProtobufWriter, tensor: OnnxTensor): void {
  writer.string(1, tensor.name);
  writer.message(2, (type) =>
    type.message(1, (tensorType) => {
      tensorType.integer(1, tensor.type);
      tensorType.message(2, (shape) => {
        for (const dim of tensor.shape) shape.message(1, (message) => message.integer(1, dim));
      });
    }),
  );
}
