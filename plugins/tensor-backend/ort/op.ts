import type { GraphBuilder } from "./onnx/graph.ts";
import type { NodeAttribute } from "./onnx/model.ts";
import type { LazyValue } from "./value.ts";

/** Attributes are part of a graph's structure: numbers, flags, strings and lists of numbers, nothing that changes from step to step. */
export type Attrs = Readonly<Record<string, number | boolean | string | readonly number[]>>;

/** Emits the ONNX nodes of one recorded operation; the last one writes `out`. */
export type Lowering<A extends Attrs = Attrs> = (
  graph: GraphBuilder,
  inputs: readonly string[],
  out: string,
  node: LoweredNode<A>,
) => void;

/** What a lowering may know of the operation. */
export interface LoweredNode<A extends Attrs = Attrs> {
  readonly value: LazyValue;
  readonly inputs: readonly LazyValue[];
  readonly attrs: A;
}

/** An operation that can be recorded. Ops are few and live for ever, so their number stands for them in signatures. */
export interface Op {
  readonly id: number;
  readonly name: string;
  /** Inputs broadcast as NumPy's do: an explicit broadcast in front of it can be left out. */
  readonly broadcasts: boolean;
  readonly lower: Lowering;
}

let count = 0;

export function defineOp<A extends Attrs = Attrs>(
  name: string,
  lower: Lowering<A>,
  options: { broadcasts?: boolean } = {},
): Op {
  return { id: ++count, name, broadcasts: options.broadcasts ?? false, lower: lower as Lowering };
}

/** An operation that is one ONNX node of the same inputs. */
export function nodeOp<A extends Attrs = Attrs>(
  onnx: string,
  attributes?: (attrs: A) => Record<string, NodeAttribute>,
  options: { broadcasts?: boolean } = {},
): Op {
  return defineOp<A>(
    onnx,
    (graph, inputs, out, { attrs }) => graph.node(onnx, inputs, out, attributes?.(attrs)),
    options,
  );
}
