import { Worker as Thread } from "node:worker_threads";
import { DataProto, InlineTransport, loadPlugins, NdArray, ThreadTransport, WorkerGroup } from "verl";
import { BenchWorker } from "./support/controller-worker.mjs";

/** Rows × columns of float32: 64 MiB. */
const SHAPE = [1024, 16_384];
const BYTES = SHAPE[0] * SHAPE[1] * 4;

const median = (values) => values.sort((a, b) => a - b)[Math.floor(values.length / 2)];

/** Median milliseconds of a run. */
async function time(runs, warmup, work) {
  for (let i = 0; i < warmup; i++) await work();
  const samples = [];
  for (let i = 0; i < runs; i++) {
    const start = performance.now();
    await work();
    samples.push(performance.now() - start);
  }
  return median(samples);
}

/** A thread that sends back what it gets, moved: what `worker_threads` itself costs. */
function bareThread() {
  const thread = new Thread(
    `const { parentPort } = require("node:worker_threads");
     parentPort.on("message", (message) => parentPort.postMessage(message, message.bytes ? [message.bytes.buffer] : []));`,
    { eval: true },
  );
  const ask = (message, move = []) =>
    new Promise((resolve) => {
      thread.once("message", resolve);
      thread.postMessage(message, move);
    });
  return { ask, close: () => thread.terminate() };
}

/** Round trips of an empty call and of a 64 MB batch, there and back, on each transport that needs no cluster. */
export default async function bench(report) {
  await loadPlugins([]);
  const bare = bareThread();
  const bareEmpty = (await time(5000, 500, () => bare.ask({}))) * 1000;
  report.row({ name: "bare worker_threads, empty message", value: bareEmpty, unit: "µs" });
  // What a transport that copies each way once must do at least: to fresh memory, there and back.
  const source = new Uint8Array(BYTES).fill(1);
  const bareBatch = await time(9, 3, async () => {
    const there = source.slice();
    const { bytes } = await bare.ask({ bytes: there }, [there.buffer]);
    return bytes.slice();
  });
  report.row({
    name: "bare worker_threads, 64 MB copied and moved",
    value: (2 * BYTES) / bareBatch / 1e6,
    unit: "GB/s",
  });
  await bare.close();

  const batch = DataProto.fromSingleDict({
    x: new NdArray("float32", SHAPE, new Float32Array(SHAPE[0] * SHAPE[1]).fill(1)),
  });
  for (const [name, transport] of [
    ["inline", new InlineTransport()],
    ["thread", new ThreadTransport()],
  ]) {
    const started = performance.now();
    const group = await WorkerGroup.create(BenchWorker, [], { transport });
    report.row({ name: `${name}: start of a group of one`, value: performance.now() - started, unit: "ms" });
    const empty = (await time(5000, 500, () => group.empty())) * 1000;
    report.row({ name: `${name}: empty call`, value: empty, unit: "µs", ratio: bareEmpty / empty, versus: "bare" });
    const trip = await time(9, 3, () => group.echo(batch));
    const rate = (2 * BYTES) / trip / 1e6;
    report.row({
      name: `${name}: 64 MB batch, both ways`,
      value: rate,
      unit: "GB/s",
      ratio: bareBatch / trip,
      versus: "bare",
    });
    await group.dispose();
    await transport.close();
  }
}
