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
const ask = async (what, times) => {
  actors.stdin.write(`${what} ${times}\n`);
  return JSON.parse((await answers.next()).value);
};
const batch = new Float32Array(16 << 20).fill(1);
const [ours, rays] = [0, 1].map(() => ({ empty: [], large: [] }));
for (let round = 0; round <= ROUNDS; round++) {
  const results = [
    await timed(EMPTY, () => prober.executeRankZero("echo", 1)),
    await timed(LARGE, () => prober.executeRankZero("echo", batch)),
    await ask("empty", EMPTY),
    await ask("large", LARGE),
  ];
  // The first warms up.
  if (round === 0) continue;
  [ours.empty, ours.large, rays.empty, rays.large].forEach((list, index) => list.push(...results[index]));
}
actors.stdin.end();
await prober.dispose();
await transport.close();
const medians = ({ empty, large }) => ({ empty: median(empty), large: median(large) });
console.log(JSON.stringify({ ours: medians(ours), rays: medians(rays) }));
