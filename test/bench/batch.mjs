import { availableParallelism } from "node:os";
import { DataProto, NdArray } from "verl";
import { Bench } from "tinybench";

const ROWS = 1024;
const WIDTH = 8192;
const PARTS = 8;
const DTYPES = ["int32", "int32", "int32", "int32", "int32", "float32", "float32", "float32", "float32", "int64"];
const ARRAY_OF = { int32: Int32Array, float32: Float32Array, int64: BigInt64Array };

/** Ten fields, every page of them touched. */
function makeBatch(dtypes = DTYPES, prefix = "field") {
  const fields = dtypes.map((dtype, i) => {
    const data = new ARRAY_OF[dtype](ROWS * WIDTH);
    for (let j = 0; j < data.length; j++) data[j] = dtype === "int64" ? BigInt(j) : j;
    return [`${prefix}_${i}`, new NdArray(dtype, [ROWS, WIDTH], data)];
  });
  return new DataProto({ batch: fields });
}

/** Seconds of the fastest half of the runs, averaged: other work on the machine only ever adds. */
async function secondsOf(name, work) {
  const bench = new Bench({ time: 600, iterations: 5, warmupIterations: 2, warmupTime: 0, retainSamples: true });
  bench.add(name, work);
  await bench.run();
  const [task] = bench.tasks;
  if (task.result.state === "errored") throw task.result.error;
  const samples = [...task.result.latency.samples].sort((a, b) => a - b);
  const fast = samples.slice(0, Math.ceil(samples.length / 2));
  return fast.reduce((sum, ms) => sum + ms, 0) / fast.length / 1000;
}

/** Bytes that an operation writes, beside `Uint8Array.set` of as many bytes to memory of the same kind (used before, or fresh). */
export default async function bench(report) {
  const batch = makeBatch();
  const bytes = [...batch.batch].reduce((sum, [, array]) => sum + array.data.byteLength, 0);
  const gigabytes = bytes / 1e9;
  report.row({
    name: "bytes moved by one operation on the batch",
    value: gigabytes,
    unit: "GB",
    versus: `${availableParallelism()} cores`,
  });

  const used = makeBatch();
  const arrays = batch.batch.keys().map((key) => [batch.tensor(key).data, used.tensor(key).data]);
  const copy = await secondsOf("memcpy", () => arrays.forEach(([from, to]) => to.set(from)));
  const fresh = await secondsOf("memcpy", () =>
    arrays.forEach(([from]) => new from.constructor(from.length).set(from)),
  );
  report.row({ name: "memcpy to used memory", value: gigabytes / copy, unit: "GB/s" });
  report.row({ name: "memcpy to fresh memory", value: gigabytes / fresh, unit: "GB/s" });

  const measure = async (name, baseline, versus, work) => {
    const seconds = await secondsOf(name, work);
    report.row({ name, value: gigabytes / seconds, unit: "GB/s", ratio: baseline / seconds, versus });
  };
  const toUsed = "memcpy to used memory";
  const toFresh = "memcpy to fresh memory";

  const parts = batch.chunk(PARTS);
  await measure(`concat of ${PARTS} parts, into used memory`, copy, toUsed, () =>
    DataProto.concat(parts, { into: used }),
  );
  await measure(`concat of ${PARTS} parts`, fresh, toFresh, () => DataProto.concat(parts));

  const memory = batch.toArrow();
  await measure("Arrow write, into used memory", copy, toUsed, () => batch.toArrow({ into: memory }));
  await measure("Arrow write", fresh, toFresh, () => batch.toArrow());
  await measure("Arrow write and read, into used memory", copy, toUsed, () =>
    DataProto.fromArrow(batch.toArrow({ into: memory })),
  );

  const order = Int32Array.from({ length: ROWS }, (_, i) => (i * 381) % ROWS);
  await measure("reorder", fresh, toFresh, () => batch.reorder(order));

  const micro = async (name, work) =>
    report.row({ name, value: (await secondsOf(name, work)) * 1e6, unit: "µs", versus: "no copy" });
  await micro(`chunk to ${PARTS} views`, () => batch.chunk(PARTS));
  await micro("Arrow read", () => DataProto.fromArrow(memory));
  const other = new DataProto({ batch: [["more", batch.tensor("field_0")]] });
  await micro("union of other fields", () => batch.union(other));
  const equal = new DataProto({ batch: [["field_0", used.tensor("field_0")]] });
  used.tensor("field_0").data.set(batch.tensor("field_0").data);
  await micro("union with one equal field (compares 34 MB)", () => batch.union(equal));
}
