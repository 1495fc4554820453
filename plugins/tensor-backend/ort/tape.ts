import type { Attrs, Op } from "./op.ts";
import type { Signature } from "./signature.ts";
import type { DType, LazyValue } from "./value.ts";

const DTYPE_CODE = { float32: 1, int32: 2, bool: 3 } as const satisfies Record<DType, number>;
/** Starts of records in the signature; none of them is an op's number. */
const LEAF = -1;
const OUTPUTS = -2;

/** Recorded operations in the order of their calls, the leaves that they read, and the signature of it all. */
export class Tape {
  readonly nodes: LazyValue[] = [];
  readonly leaves: LazyValue[] = [];
  readonly signature: Signature;
  readonly #number: number;

  constructor(number: number, signature: Signature) {
    this.#number = number;
    this.signature = signature;
    signature.clear();
  }

  record(node: LazyValue, op: Op, inputs: readonly LazyValue[], attrs: Attrs | undefined): void {
    const { signature } = this;
    for (let i = 0; i < inputs.length; i++) if (inputs[i]!.tape !== this.#number) this.#addLeaf(inputs[i]!);
    signature.word(op.id);
    this.#describe(node);
    signature.word(inputs.length);
    for (let i = 0; i < inputs.length; i++) signature.word(inputs[i]!.index);
    if (attrs !== undefined) this.#describeAttrs(attrs);
    node.tape = this.#number;
    node.index = this.nodes.length;
    this.nodes.push(node);
  }

  /** Positions of the nodes whose values somebody can still ask for; they close the signature. */
  closeWithOutputs(): number[] {
    const outputs: number[] = [];
    for (let i = 0; i < this.nodes.length; i++) if (this.nodes[i]!.refCount > 0) outputs.push(i);
    this.signature.word(OUTPUTS);
    this.signature.list(outputs);
    return outputs;
  }

  #addLeaf(leaf: LazyValue): void {
    leaf.tape = this.#number;
    this.leaves.push(leaf);
    leaf.index = -this.leaves.length;
    this.signature.word(LEAF);
    this.signature.word(leaf.constant ? 1 : 0);
    this.#describe(leaf);
  }

  #describe(value: LazyValue): void {
    this.signature.word(DTYPE_CODE[value.dtype]);
    this.signature.list(value.shape);
  }

  /** Attribute names need no words: an op always has the same ones in the same order. */
  #describeAttrs(attrs: Attrs): void {
    for (const key in attrs) {
      const value = attrs[key]!;
      if (typeof value === "number") this.signature.number(value);
      else if (typeof value === "boolean") this.signature.word(value ? 1 : 0);
      else if (typeof value === "string") this.signature.string(value);
      else this.signature.list(value);
    }
  }
}
