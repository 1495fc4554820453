import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { createLogger, loadPlugin, RayTransport, ResourcePool, WorkerGroup } from "verl";
import { Prober } from "./prober.mjs";

const ROUNDS = 5;
const [EMPTY, LARGE] = [400, 5];

const [address, python] = process.argv.slice(2);

const median = (values) => values.sort((a, b) => a - b)[values.length >> 1];

async function timed(times, call) {
  const spent = [];
  for (let i = 0; i < times; i++) {
    const start = performance.now();
    await call();
    spent.push(performance.now() - start);
  }
  return spent;
}

await loadPlugin("verl/plugins");
const ray = { address, host: null, port: 0, python, tls_cert: null, tls_key: null };
const transport = new RayTransport({ controller: { ray } }, createLogger(), new AbortController().signal);
const prober = await WorkerGroup.create(Prober, [], { transport, pool: new ResourcePool([1]) });
const { GLIBC_TUNABLES: _, ...env } = process.env;
const actors = spawn(python, [fileURLToPath(new URL("ray-actors.py", import.meta.url)), address], {
  stdio: ["pipe", "pipe", "inherit"],
  env,
});
const answers = createInterface({ input: actors.stdout })[Symbol.asyncIterator]();
const ask = async (numbers, times) => {
  actors.stdin.write(`${numbers} ${times}\n`);
  return JSON.parse((await answers.next()).value);
};
// V8 collects its heap after each 64 MiB of new arrays, which two cores notice: so one size below that and one that reaches it.
const batches = { MB: new Float32Array(16_000_000).fill(1), MiB: new Float32Array(16 << 20).fill(1) };
const [ours, rays] = [0, 1].map(() => ({ empty: [], MB: [], MiB: [] }));
for (let round = 0; round <= ROUNDS; round++) {
  const results = [];
  const took = (list, times) => results.push([list, times]);
  took(ours.empty, await timed(EMPTY, () => prober.executeRankZero("echo", 1)));
  for (const [size, batch] of Object.entries(batches)) {
    took(ours[size], await timed(LARGE, () => prober.executeRankZero("echo", batch)));
  }
  took(rays.empty, await ask(0, EMPTY));
  for (const [size, { length }] of Object.entries(batches)) took(rays[size], await ask(length, LARGE));
  // The first warms up.
  if (round > 0) for (const [list, times] of results) list.push(...times);
}
actors.stdin.end();
await prober.dispose();
await transport.close();
const medians = (lists) => Object.fromEntries(Object.entries(lists).map(([what, times]) => [what, median(times)]));
console.log(JSON.stringify({ ours: medians(ours), rays: medians(rays) }));
