import { VerlError, reasonOf } from "verl";
import type { GraphCache } from "./graph-cache.ts";
import type { Attrs, Op } from "./op.ts";
import { periodOf } from "./period.ts";
import { Signature } from "./signature.ts";
import { Tape } from "./tape.ts";
import { SpareArrays } from "./spare-arrays.ts";
import { CONSTANT_SIZE, copyValues, type DType, LazyValue, leafOf, type Values } from "./value.ts";

/** Most operations on one tape: below it compiling is quick, and most steps end by a read long before. */
const MAX_TAPE = 16_384;

/**
 * Turns calls into lazy values, and lazy values into numbers: operations collect on a tape until somebody reads, then
 * the whole tape runs as one graph.
 */
export class Recorder {
  /** Arrays of host kernels' results. */
  readonly spare = new SpareArrays();
  readonly #signature = new Signature();
  #tapes = 0;
  #tape = new Tape(0, this.#signature);
  #live = 0;
  #runs = 0;
  #limit = MAX_TAPE;

  constructor(readonly cache: GraphCache) {}

  /** Values that some tensor refers to. */
  get liveValues(): number {
    return this.#live;
  }

  /** Operations recorded since the last run. */
  get pending(): number {
    return this.#tape.nodes.length;
  }

  /** Graphs run so far. */
  get runs(): number {
    return this.#runs;
  }

  /** A leaf with a private copy of `source`: what happens to the caller's array later is not seen. */
  write(source: ArrayLike<number>, shape: readonly number[], dtype: DType): LazyValue {
    return this.adopt(copyValues(source, dtype), shape, dtype, source.length <= CONSTANT_SIZE);
  }

  /** A leaf that owns `values`: nobody else may write to them. */
  adopt(values: Values, shape: readonly number[], dtype: DType, constant: boolean): LazyValue {
    const leaf = leafOf(values, shape, dtype);
    leaf.refCount = 0;
    leaf.constant = constant;
    return leaf;
  }

  /** The same numbers in another shape: both values have one array. */
  share(value: LazyValue, shape: readonly number[]): LazyValue {
    value.own = false;
    return this.adopt(value.values!, shape, value.dtype, value.constant);
  }

  /** A scalar leaf, guessed to be constant. */
  scalar(value: number, dtype: DType = "float32"): LazyValue {
    return this.write([value], [], dtype);
  }

  record(
    op: Op,
    inputs: readonly LazyValue[],
    attrs: Attrs | undefined,
    shape: readonly number[],
    dtype: DType,
  ): LazyValue {
    const node = new LazyValue(shape, dtype, op, inputs, attrs);
    node.refCount = 0;
    this.#tape.record(node, op, inputs, attrs);
    return node;
  }

  retain(value: LazyValue): void {
    if (value.refCount++ === 0) this.#live++;
  }

  /** True when nobody refers to it any more. A pending operation is then run only if another one needs it. */
  release(value: LazyValue, force = false): boolean {
    if (value.refCount === 0) return true;
    value.refCount = force ? 0 : value.refCount - 1;
    if (value.refCount > 0) return false;
    this.#live--;
    // What a graph that has yet to run reads stays as it is.
    if (value.own && value.tape !== this.#tapes) {
      this.spare.keep(value.values as Float32Array);
      value.settle(undefined);
    }
    return true;
  }

  valuesOf(value: LazyValue): Values {
    if (value.values === undefined) this.flush();
    if (value.values !== undefined) return value.values;
    throw new VerlError("VERL_TENSOR_GRAPH", "A tensor was to be computed by a graph that failed before.", {
      hint: "See the first error; tensors of that step have no values.",
    });
  }

  /**
   * Runs the tape when it is too long, so that a loop that nobody reads from does not record for ever. Later cuts are whole
   * iterations apart: then they all leave the same structure behind, and the compiled graph is used again.
   *
   * Not to be called while a kernel records: what it holds in its hands is referred to by no tensor yet.
   */
  cutIfLong(): void {
    const { nodes } = this.#tape;
    if (nodes.length < this.#limit) return;
    const period = periodOf(nodes.map((node) => node.op!.id));
    this.#limit = period === 0 ? MAX_TAPE : MAX_TAPE - (MAX_TAPE % period);
    this.flush();
  }

  /** Runs the tape. Everything that is still referred to gets its values, not only what is asked for. */
  flush(): void {
    const tape = this.#tape;
    if (tape.nodes.length === 0) return;
    try {
      const outputs = tape.closeWithOutputs();
      if (outputs.length > 0) this.#run(tape, outputs);
    } finally {
      for (const node of tape.nodes) node.settle(node.values);
      this.#tape = new Tape(++this.#tapes, this.#signature);
    }
  }

  /** @throws VERL_TENSOR_GRAPH naming the operation, as far as onnxruntime tells. */
  #run(tape: Tape, outputs: readonly number[]): void {
    try {
      const graph = this.cache.graphOf(tape, outputs);
      const results = graph.session.run(graph.feeds.map((leaf) => tape.leaves[leaf]!.values!));
      outputs.forEach((position, i) => (tape.nodes[position]!.values = results[i]));
    } catch (cause) {
      const reason = reasonOf(cause);
      throw new VerlError(
        "VERL_TENSOR_GRAPH",
        `A recorded graph of ${tape.nodes.length} operations failed: ${reason}`,
        {
          hint: "Operations run when a value is read, not where they are called. An index out of range is the usual cause.",
          cause,
        },
      );
    }
    this.#runs++;
  }
}
