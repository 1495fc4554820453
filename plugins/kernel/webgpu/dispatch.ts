/// <reference types="@webgpu/types" />
import * as tf from "@tensorflow/tfjs";

/** What a kernel needs of tfjs' WebGPU backend, some of which its types keep private. */
interface Internals {
  readonly device: GPUDevice;
  commandEncoder: GPUCommandEncoder | null;
  computePassEncoder: GPUComputePassEncoder | null;
  dispatchCountInPass: number;
  readonly commandQueueOwnedIds: WeakSet<object>;
  makeUniforms(values: { type: string; data: number[] }[]): GPUBufferBinding;
  ensureCommandEncoderReady(): void;
  endComputePassEncoder(): void;
  submitQueue(): void;
  makeTensorInfo(shape: number[], dtype: tf.DataType): tf.TensorInfo;
  uploadToGPU(dataId: object): void;
  disposeData(dataId: object): boolean;
  readonly tensorMap: { get(dataId: object): { resource?: GPUBuffer | null; values?: ArrayLike<number> | null } };
}

/** A tensor, or a part of its bytes. The offset is a multiple of `storageAlignment`. */
export interface Slice {
  readonly tensor: tf.TensorInfo;
  readonly offset?: number;
  readonly size?: number;
}

/** Numbers of the kernel's uniform struct, in its order; all fields are 4 bytes wide. */
export type Uniform = readonly ["u32" | "f32" | "i32", number];

export interface Dispatch {
  readonly label: string;
  /**
   * WGSL with the entry point `main`. Bindings of group 0: the buffers in their order, then the uniform struct. Every one must be used,
   * for the layout is read off the source.
   */
  readonly source: string;
  readonly buffers: readonly (tf.TensorInfo | Slice)[];
  readonly uniforms: readonly Uniform[];
  readonly workgroups: readonly [number, number?, number?];
}

const UNIFORM_TYPES = { u32: "uint32", f32: "float32", i32: "int32" } as const;
const pipelines = new WeakMap<GPUDevice, Map<string, GPUComputePipeline>>();

/** The device's limits and features, as far as kernels ask for them. */
export class Gpu {
  readonly #backend: Internals;

  constructor(backend: unknown) {
    this.#backend = backend as Internals;
  }

  /** Most bytes of one binding. */
  get bindingLimit(): number {
    const { maxStorageBufferBindingSize, maxBufferSize } = this.#backend.device.limits;
    return Math.min(maxStorageBufferBindingSize, maxBufferSize);
  }

  /** Offsets of bindings are multiples of it. */
  get storageAlignment(): number {
    return this.#backend.device.limits.minStorageBufferOffsetAlignment;
  }

  /** Most workgroups along one axis. */
  get gridLimit(): number {
    return this.#backend.device.limits.maxComputeWorkgroupsPerDimension;
  }

  /** `wanted` invocations a workgroup, or as many as there can be. A power of two. */
  workgroupSize(wanted: number): number {
    const { maxComputeInvocationsPerWorkgroup, maxComputeWorkgroupSizeX } = this.#backend.device.limits;
    let size = wanted;
    while (size > Math.min(maxComputeInvocationsPerWorkgroup, maxComputeWorkgroupSizeX)) size /= 2;
    return size;
  }

  /** A tensor whose values the caller's dispatches will write. */
  allocate(shape: readonly number[], dtype: tf.DataType = "float32"): tf.TensorInfo {
    const info = this.#backend.makeTensorInfo([...shape], dtype);
    this.#backend.uploadToGPU(info.dataId);
    return info;
  }

  /** Gives an intermediate result's memory back. */
  release(info: tf.TensorInfo): void {
    this.#backend.disposeData(info.dataId);
  }

  /** Values of a tensor that was written from JavaScript and has not been sent to the GPU yet; undefined for any other. */
  hostValues(info: tf.TensorInfo): ArrayLike<number> | undefined {
    return this.#backend.tensorMap.get(info.dataId).values ?? undefined;
  }

  /** Records one dispatch behind those of tfjs, in the same command buffer. */
  run({ label, source, buffers, uniforms, workgroups }: Dispatch): void {
    const backend = this.#backend;
    const slices = buffers.map((buffer) => ("tensor" in buffer ? buffer : { tensor: buffer }));
    // Uploads may end the current pass, so they all come first.
    for (const { tensor } of slices) backend.uploadToGPU(tensor.dataId);
    const pipeline = this.#pipeline(label, source);
    const resources: GPUBufferBinding[] = slices.map(({ tensor, offset, size }) => {
      backend.commandQueueOwnedIds.add(tensor.dataId);
      return { buffer: backend.tensorMap.get(tensor.dataId).resource!, offset, size };
    });
    resources.push(
      backend.makeUniforms(uniforms.map(([type, value]) => ({ type: UNIFORM_TYPES[type], data: [value] }))),
    );
    const bindGroup = backend.device.createBindGroup({
      layout: pipeline.getBindGroupLayout(0),
      entries: resources.map((resource, binding) => ({ binding, resource })),
    });
    backend.ensureCommandEncoderReady();
    const pass = (backend.computePassEncoder ??= backend.commandEncoder!.beginComputePass());
    pass.setPipeline(pipeline);
    pass.setBindGroup(0, bindGroup);
    pass.dispatchWorkgroups(...workgroups);
    backend.dispatchCountInPass += 1;
    if (backend.dispatchCountInPass >= tf.env().getNumber("WEBGPU_DEFERRED_SUBMIT_BATCH_SIZE")) {
      backend.endComputePassEncoder();
      backend.submitQueue();
    }
  }

  #pipeline(label: string, source: string): GPUComputePipeline {
    const { device } = this.#backend;
    const known = pipelines.get(device) ?? new Map<string, GPUComputePipeline>();
    pipelines.set(device, known);
    let pipeline = known.get(source);
    if (pipeline === undefined) {
      const module = device.createShaderModule({ label, code: source });
      pipeline = device.createComputePipeline({ label, layout: "auto", compute: { module, entryPoint: "main" } });
      known.set(source, pipeline);
    }
    return pipeline;
  }
}

/** Workgroups of a list of `count` items as a grid of two axes; WGSL finds its item by `LINEAR_WORKGROUP`. */
export function gridOf(gpu: Gpu, count: number): [number, number] {
  const columns = Math.min(count, gpu.gridLimit);
  return [columns, Math.ceil(count / columns)];
}

/** WGSL expression of a workgroup's number in a grid of `gridOf`, given the builtins `group` and `groups`. */
export const LINEAR_WORKGROUP = "(group.x + group.y * groups.x)";
