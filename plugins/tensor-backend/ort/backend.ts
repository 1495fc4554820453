import * as tf from "@tensorflow/tfjs";
import { VerlError } from "verl";
import { type CacheStats, GraphCache } from "./graph-cache.ts";
import { Recorder } from "./recorder.ts";
import { copyValues, isDType, LazyValue, type Values } from "./value.ts";

export interface OrtOptions {
  /** Threads of one graph. */
  threads: number;
  /** Compiled graphs kept at most. */
  sessions: number;
  /** Bytes that the kept graphs may hold together, as far as shapes tell. */
  sessionBytes: number;
}

/** How the backend does: for tests, benchmarks and the curious. */
export interface OrtStats extends CacheStats {
  /** Graphs run. */
  runs: number;
  /** Values that tensors refer to. */
  liveValues: number;
}

/**
 * A tfjs backend that computes nothing when a kernel is called. Kernels are recorded, and run as one ONNX graph when
 * values are asked for; a graph of the same structure is compiled once.
 */
export class OrtBackend extends tf.KernelBackend {
  readonly recorder: Recorder;
  /** Values of tensors that were made by another backend and moved here. */
  readonly #moved = new WeakMap<object, LazyValue>();

  constructor({ threads, sessions, sessionBytes }: OrtOptions) {
    super();
    this.recorder = new Recorder(new GraphCache({ sessions, bytes: sessionBytes }, { threads }));
  }

  get stats(): OrtStats {
    return { ...this.recorder.cache.stats, runs: this.recorder.runs, liveValues: this.recorder.liveValues };
  }

  /** Runs what is recorded, without reading anything. */
  flush(): void {
    this.recorder.flush();
  }

  /** The value behind a tensor, brought here first if another backend has it. */
  resolve(dataId: object): LazyValue {
    let value = this.#known(dataId);
    if (value === undefined) {
      (tf.engine() as { moveData(backend: tf.KernelBackend, dataId: object): void }).moveData(this, dataId);
      value = this.#known(dataId)!;
    }
    return value;
  }

  /** A tensor's values, not to be written to; undefined while a graph has to run for them, or another backend has them. */
  valuesAtHand(dataId: object): Values | undefined {
    return this.#known(dataId)?.values;
  }

  /** Data of a tensor that owns `values`, which nobody else holds: they are written to again when the tensor is gone. */
  adopt(values: Float32Array, shape: readonly number[]): LazyValue {
    const value = this.recorder.adopt(values, shape, "float32", false);
    value.own = true;
    this.recorder.retain(value);
    return value;
  }

  /** A value that left for another backend and came back is a new one under its old id. */
  #known(dataId: object): LazyValue | undefined {
    if (dataId instanceof LazyValue && dataId.refCount > 0) return dataId;
    const moved = this.#moved.get(dataId);
    return moved !== undefined && moved.refCount > 0 ? moved : undefined;
  }

  override write(values: tf.BackendValues, shape: number[], dtype: tf.DataType): LazyValue {
    const value = this.recorder.write(numbers(values, dtype), shape, supported(dtype));
    this.recorder.retain(value);
    return value;
  }

  override move(dataId: object, values: tf.BackendValues, shape: number[], dtype: tf.DataType, refCount: number): void {
    const value = this.recorder.write(numbers(values, dtype), shape, supported(dtype));
    for (let i = 0; i < refCount; i++) this.recorder.retain(value);
    this.#moved.set(dataId, value);
  }

  /** A copy: values are shared and stay as they are, whatever the caller does to what it gets. */
  override readSync(dataId: object): Values {
    const value = this.resolve(dataId);
    return copyValues(this.recorder.valuesOf(value), value.dtype);
  }

  override read(dataId: object): Promise<Values> {
    return Promise.resolve(this.readSync(dataId));
  }

  override refCount(dataId: object): number {
    return this.#known(dataId)?.refCount ?? 0;
  }

  override incRef(dataId: object): void {
    this.recorder.retain(this.resolve(dataId));
  }

  override disposeData(dataId: object, force = false): boolean {
    const value = this.#known(dataId);
    return value === undefined || this.recorder.release(value, force);
  }

  override numDataIds(): number {
    return this.recorder.liveValues;
  }

  override memory(): { unreliable: boolean } {
    return { unreliable: false };
  }

  override floatPrecision(): 32 {
    return 32;
  }

  override epsilon(): number {
    return 1e-7;
  }

  override timerAvailable(): boolean {
    return false;
  }

  override time(run: () => void): Promise<tf.BackendTimingInfo> {
    const start = performance.now();
    run();
    this.flush();
    return Promise.resolve({ kernelMs: performance.now() - start });
  }

  override dispose(): void {
    this.recorder.cache.clear();
    this.recorder.spare.clear();
  }
}

function supported(dtype: tf.DataType): "float32" | "int32" | "bool" {
  if (isDType(dtype)) return dtype;
  throw new VerlError("VERL_TENSOR_DTYPE", `The tensor backend "ort" has no dtype "${dtype}".`, {
    hint: 'Use "float32", "int32" or "bool", or set tensor_backend to "cpu".',
  });
}

function numbers(values: tf.BackendValues, dtype: tf.DataType): ArrayLike<number> {
  supported(dtype);
  return values as ArrayLike<number>;
}
