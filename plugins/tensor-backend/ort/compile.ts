import { broadcast_util } from "@tensorflow/tfjs";
import { GraphBuilder } from "./onnx/graph.ts";
import { type NamedTensor, Session, type SessionOptions } from "./session.ts";
import type { Tape } from "./tape.ts";
import { type LazyValue, sameShape } from "./value.ts";
import { broadcastOp } from "./ops/broadcast.ts";

/** A tape turned into a session, and which leaves feed it. */
export interface CompiledGraph {
  readonly session: Session;
  /** Leaves that are inputs, by position on the tape; the other leaves are constants inside. */
  readonly feeds: readonly number[];
  /** Bytes that the session holds when it runs, as far as shapes tell. */
  readonly bytes: number;
}

/**
 * Lowers the operations that `outputs` need to ONNX and compiles them.
 *
 * @param varying for each leaf, whether it is an input; the values of the others are built in.
 */
export function compileTape(
  tape: Tape,
  outputs: readonly number[],
  varying: readonly boolean[],
  options: SessionOptions,
): CompiledGraph {
  const graph = new GraphBuilder();
  const feeds: number[] = [];
  const inputs: NamedTensor[] = [];
  const constants = new Map<number, string>();

  const nameOf = (value: LazyValue): string => {
    if (value.index >= 0) return `v${value.index}`;
    const leaf = -value.index - 1;
    let name = constants.get(leaf);
    if (name === undefined) {
      if (varying[leaf]!) {
        name = `x${leaf}`;
        graph.input(name, value.dtype, value.shape);
        feeds.push(leaf);
        inputs.push({ name, dtype: value.dtype, shape: value.shape });
      } else {
        name = graph.constant(value.values!, value.dtype, value.shape);
      }
      constants.set(leaf, name);
    }
    return name;
  };

  const operands = tape.nodes.map(withoutBroadcasts);
  const needed = neededNodes(tape, outputs, operands);
  for (let i = 0; i < tape.nodes.length; i++) {
    if (!needed[i]) continue;
    const value = tape.nodes[i]!;
    value.op!.lower(graph, operands[i]!.map(nameOf), `v${i}`, {
      value,
      inputs: operands[i]!,
      attrs: value.attrs ?? {},
    });
  }
  const names = outputs.map((position) => {
    const { dtype, shape } = tape.nodes[position]!;
    graph.output(`v${position}`, dtype, shape);
    return `v${position}`;
  });
  const session = new Session(graph.encode(), inputs, names, options);
  return { session, feeds, bytes: peakBytes(tape, needed, operands) };
}

/** An operation that broadcasts by itself takes the small operand in place of the broadcast one. */
function withoutBroadcasts(node: LazyValue): readonly LazyValue[] {
  if (!node.op!.broadcasts) return node.inputs;
  let operands = node.inputs;
  for (let i = 0; i < operands.length; i++) {
    const operand = operands[i]!;
    if (operand.op !== broadcastOp) continue;
    const shorter = operands.with(i, operand.inputs[0]!);
    if (sameShape(commonShape(shorter), node.shape)) operands = shorter;
  }
  return operands;
}

const commonShape = (values: readonly LazyValue[]): number[] =>
  values.reduce<number[]>((shape, value) => broadcast_util.assertAndGetBroadcastShape(shape, [...value.shape]), []);

function neededNodes(tape: Tape, outputs: readonly number[], operands: readonly (readonly LazyValue[])[]): boolean[] {
  const needed = tape.nodes.map(() => false);
  for (const position of outputs) needed[position] = true;
  for (let i = tape.nodes.length - 1; i >= 0; i--) {
    if (needed[i]) for (const operand of operands[i]!) if (operand.index >= 0) needed[operand.index] = true;
  }
  return needed;
}

/** Most bytes alive at once when each value dies after its last reader; outputs stay. */
function peakBytes(tape: Tape, needed: readonly boolean[], operands: readonly (readonly LazyValue[])[]): number {
  const lastReader = tape.nodes.map((node, i) => (node.refCount > 0 ? Infinity : i));
  operands.forEach((list, i) => {
    if (needed[i]) for (const { index } of list) if (index >= 0) lastReader[index] = Math.max(lastReader[index]!, i);
  });
  let live = 0;
  let peak = 0;
  for (let i = 0; i < tape.nodes.length; i++) {
    if (!needed[i]) continue;
    live += bytesOf(tape.nodes[i]!);
    peak = Math.max(peak, live);
    for (const { index } of new Set([...operands[i]!, tape.nodes[i]!])) {
      if (index >= 0 && lastReader[index] === i) live -= bytesOf(tape.nodes[index]!);
    }
  }
  return peak;
}

const bytesOf = (value: LazyValue): number => value.size * (value.dtype === "bool" ? 1 : 4);
