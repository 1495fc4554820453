import { createRequire } from "node:module";
import { isMainThread } from "node:worker_threads";
import type { DType, Values } from "./value.ts";

/** A tensor as the native binding takes it: plain data, no class needed. */
interface NativeTensor {
  readonly type: DType;
  readonly dims: readonly number[];
  readonly data: Values;
  readonly location: "cpu";
}
interface NativeSession {
  loadModel(buffer: ArrayBuffer, offset: number, length: number, options: object): void;
  run(
    feeds: Record<string, NativeTensor>,
    fetches: Record<string, NativeTensor | null>,
    options: object,
  ): Record<string, { data: Values }>;
  dispose(): void;
}
type TensorConstructor = new (type: DType, data: Values, dims: number[]) => { data: Values };
interface Binding {
  InferenceSession: new () => NativeSession;
  initOrtOnce(logLevel: number, tensor: TensorConstructor, isMainThread: boolean): void;
}

let binding: Binding | undefined;

/**
 * onnxruntime-node's native binding. Its public class only wraps this one in `setImmediate`; called directly it is
 * synchronous, and so `dataSync()` works. Throws what the platform throws where there is no binary.
 */
export function loadBinding(): Binding {
  if (binding !== undefined) return binding;
  const require = createRequire(import.meta.url);
  const native = require("onnxruntime-node/dist/binding.js") as { binding: Binding; initOrt(): void };
  const { Tensor } = require("onnxruntime-node") as { Tensor: TensorConstructor };
  // Once by the package, so that it does not do it later; then with a constructor of our own.
  native.initOrt();
  native.binding.initOrtOnce(WARNINGS, plainWhileRunning(Tensor), isMainThread);
  return (binding = native.binding);
}

const WARNINGS = 2;
let running = false;

/**
 * The binding has one constructor for all results. Ours are plain: a Tensor checks its arguments at length, and refuses
 * arrays of another realm, such as a test runner's. Other users of the package get their Tensors.
 */
function plainWhileRunning(Tensor: TensorConstructor): TensorConstructor {
  return class {
    constructor(
      type: DType,
      readonly data: Values,
      dims: number[],
    ) {
      if (!running) return new Tensor(type, data, dims);
    }
  };
}

export interface SessionOptions {
  threads: number;
}

/** The same for every graph; each was measured against its opposite. */
const SETTINGS = {
  // Fusions of the higher levels gain nothing on these graphs. Some round otherwise when a scalar is a constant than when it
  // is an input, and so would make the bits of a run depend on which graphs were compiled before.
  graphOptimizationLevel: "basic",
  extra: {
    optimization: { disable_specified_optimizers: "DivMulFusion" },
    // Threads that wait by spinning take the cores from the other sessions' threads and from JavaScript.
    session: { intra_op: { allow_spinning: "0" } },
  },
  // Planning one block of memory a graph takes twice the memory and is no faster.
  enableMemPattern: false,
  logSeverityLevel: 3,
};

export interface NamedTensor {
  readonly name: string;
  readonly dtype: DType;
  readonly shape: readonly number[];
}

/** A compiled graph: values in, values out, synchronously. */
export class Session {
  readonly #session: NativeSession;
  readonly #inputs: readonly NamedTensor[];
  readonly #outputs: readonly string[];
  readonly #fetches: Record<string, null>;

  constructor(
    model: Uint8Array<ArrayBuffer>,
    inputs: readonly NamedTensor[],
    outputs: readonly string[],
    options: SessionOptions,
  ) {
    this.#inputs = inputs;
    this.#outputs = outputs;
    this.#fetches = Object.fromEntries(outputs.map((name) => [name, null]));
    this.#session = new (loadBinding().InferenceSession)();
    this.#session.loadModel(model.buffer, model.byteOffset, model.byteLength, {
      executionProviders: ["cpu"],
      intraOpNumThreads: options.threads,
      interOpNumThreads: 1,
      ...SETTINGS,
    });
  }

  /** Values of the outputs, in their order, for values of the inputs, in theirs. Inputs are read in place; outputs are new arrays. */
  run(inputs: readonly Values[]): Values[] {
    const feeds: Record<string, NativeTensor> = {};
    for (let i = 0; i < inputs.length; i++) {
      const { name, dtype, shape } = this.#inputs[i]!;
      feeds[name] = { type: dtype, dims: shape, data: inputs[i]!, location: "cpu" };
    }
    running = true;
    try {
      const results = this.#session.run(feeds, this.#fetches, {});
      return this.#outputs.map((name) => results[name]!.data);
    } finally {
      running = false;
    }
  }

  dispose(): void {
    this.#session.dispose();
  }
}
