import type { GraphCache } from "./graph-cache.ts";
import type { Attrs, Op } from "./op.ts";
import { Signature } from "./signature.ts";
import { Tape } from "./tape.ts";
import { CONSTANT_SIZE, copyValues, type DType, LazyValue, leafOf, type Values } from "./value.ts";

/**
 * Turns calls into lazy values, and lazy values into numbers: operations collect on a tape until somebody reads, then
 * the whole tape runs as one graph.
 */
export class Recorder {
  readonly #signature = new Signature();
  #tapes = 0;
  #tape = new Tape(0, this.#signature);
  #live = 0;
  #runs = 0;

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
    return true;
  }

  valuesOf(value: LazyValue): Values {
    if (value.values === undefined) this.flush();
    return value.values!;
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

  #run(tape: Tape, outputs: readonly number[]): void {
    const graph = this.cache.graphOf(tape, outputs);
    const results = graph.session.run(graph.feeds.map((leaf) => tape.leaves[leaf]!.values!));
    outputs.forEach((position, i) => (tape.nodes[position]!.values = results[i]));
    this.#runs++;
  }
}
