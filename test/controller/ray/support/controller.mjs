import { createLogger, importSource, loadPlugin, RayTransport, ResourcePool, WorkerGroup } from "verl";

/* A controller in a process of its own, which says when its ranks run and then waits to be killed. */

const [address, python] = process.argv.slice(2);
await loadPlugin("verl/plugins");
const { Prober } = await importSource(new URL("prober.ts", import.meta.url).href);
const ray = { address, host: null, port: 0, python, tls_cert: null, tls_key: null };
const transport = new RayTransport({ controller: { ray } }, createLogger(), new AbortController().signal);
const probers = await WorkerGroup.create(Prober, [], { transport, pool: new ResourcePool([2]) });
console.log("ready");
await probers.block(60_000);
