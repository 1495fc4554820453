import * as tf from "@tensorflow/tfjs";

/** tfjs' WebGPU backend, with the parts that its types keep private. */
export const gpu = () => tf.backend();

/**
 * Median of device timestamps around `work`, which records kernels: milliseconds.
 * @param busyCopies copies of 256 MiB right before each sample, for a card that rests between short samples lowers its clocks.
 */
export async function deviceMs(work, { repeats = 20, warm = 3, busyCopies = 0 } = {}) {
  const backend = gpu();
  const { device } = backend;
  // One command buffer for all that is timed.
  tf.env().set("WEBGPU_DEFERRED_SUBMIT_BATCH_SIZE", 1e9);
  const querySet = device.createQuerySet({ type: "timestamp", count: 2 });
  const { QUERY_RESOLVE, COPY_SRC, COPY_DST, MAP_READ } = GPUBufferUsage;
  const resolved = device.createBuffer({ size: 16, usage: QUERY_RESOLVE | COPY_SRC });
  const staging = device.createBuffer({ size: 16, usage: COPY_DST | MAP_READ });
  const [source, target] = [COPY_SRC, COPY_DST].map((usage) => device.createBuffer({ size: 2 ** 28, usage }));
  const times = [];
  for (let i = -warm; i < repeats; i += 1) {
    backend.ensureCommandEncoderReady();
    const { commandEncoder } = backend;
    // The end of an empty pass comes when all that was recorded before is done.
    const stamp = (index) => {
      backend.endComputePassEncoder();
      commandEncoder.beginComputePass({ timestampWrites: { querySet, endOfPassWriteIndex: index } }).end();
    };
    backend.endComputePassEncoder();
    for (let copy = 0; copy < busyCopies; copy += 1) commandEncoder.copyBufferToBuffer(source, 0, target, 0, 2 ** 28);
    stamp(0);
    tf.tidy(() => void work(i));
    if (backend.commandEncoder !== commandEncoder)
      throw new Error("The work was cut in two, so that its time is not known.");
    stamp(1);
    backend.commandEncoder.resolveQuerySet(querySet, 0, 2, resolved, 0);
    backend.commandEncoder.copyBufferToBuffer(resolved, 0, staging, 0, 16);
    backend.submitQueue();
    await staging.mapAsync(GPUMapMode.READ);
    const [begin, end] = new BigUint64Array(staging.getMappedRange());
    staging.unmap();
    if (i >= 0) times.push(Number(end - begin) / 1e6);
  }
  for (const object of [querySet, source, target, resolved, staging]) object.destroy();
  tf.env().set("WEBGPU_DEFERRED_SUBMIT_BATCH_SIZE", 15);
  return median(times);
}

function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)];
}

/** A tensor of pseudo-random numbers made on the device: `shift + scale · n`, n roughly normal, or uniform in [0, 1). */
export function random(shape, { scale = 1, shift = 0, uniform = false, seed = 1 } = {}) {
  const element = uniform
    ? "f32(hash(i)) / 4294967296.0"
    : "(f32(hash(4u * i)) + f32(hash(4u * i + 1u)) + f32(hash(4u * i + 2u)) + f32(hash(4u * i + 3u)) - 8589934592.0) / 2479700524.0";
  return generated(
    shape,
    "float32",
    `
fn hash(i: u32) -> u32 {
  var x = i * 747796405u + ${(seed * 2891336453) >>> 0}u;
  x = ((x >> ((x >> 28u) + 4u)) ^ x) * 277803737u;
  return (x >> 22u) ^ x;
}`,
    `${shift.toFixed(6)} + ${scale.toFixed(6)} * (${element})`,
  );
}

/** The matrix copied by a plain kernel, for the ceiling of what kernels can move. */
export const copied = (source) => run(source.shape, source.dtype, "", "source[i]", [source], "vec4f", 4);

const generated = (shape, dtype, functions, expression) => run(shape, dtype, functions, expression, [], "f32", 1);

const pipelines = new Map();

function run(shape, dtype, functions, expression, inputs, type, width) {
  const backend = gpu();
  const { device } = backend;
  const out = backend.makeTensorInfo(shape, dtype);
  for (const { dataId } of [...inputs, out]) backend.uploadToGPU(dataId);
  const items = tf.util.sizeFromShape(shape) / width;
  const code = `
${inputs.map((_, i) => `@group(0) @binding(${i}) var<storage, read> source: array<${type}>;`).join("\n")}
@group(0) @binding(${inputs.length}) var<storage, read_write> result: array<${type}>;
${functions}
@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u, @builtin(local_invocation_index) thread: u32) {
  let first = (group.x + group.y * groups.x) * 1024u + thread;
  for (var k = 0u; k < 4u; k += 1u) {
    let i = first + 256u * k;
    if (i < ${items}u) { result[i] = ${expression}; }
  }
}`;
  if (!pipelines.has(code)) {
    const module = device.createShaderModule({ code });
    pipelines.set(code, device.createComputePipeline({ layout: "auto", compute: { module, entryPoint: "main" } }));
  }
  const pipeline = pipelines.get(code);
  for (const { dataId } of [...inputs, out]) backend.commandQueueOwnedIds.add(dataId);
  const bindGroup = device.createBindGroup({
    layout: pipeline.getBindGroupLayout(0),
    entries: [...inputs, out].map(({ dataId }, binding) => ({
      binding,
      resource: { buffer: backend.tensorMap.get(dataId).resource },
    })),
  });
  backend.ensureCommandEncoderReady();
  backend.computePassEncoder ??= backend.commandEncoder.beginComputePass();
  backend.computePassEncoder.setPipeline(pipeline);
  backend.computePassEncoder.setBindGroup(0, bindGroup);
  const groups = Math.ceil(items / 1024);
  const columns = Math.min(groups, 65_535);
  backend.computePassEncoder.dispatchWorkgroups(columns, Math.ceil(groups / columns));
  return tf.engine().makeTensorFromTensorInfo(out);
}
