import { createLogger, importSource, loadPlugin, RayTransport, ResourcePool, WorkerGroup } from "verl";

/*
 * A controller in a process of its own, which says when it is `busy` with ranks that compute, or `idle`, with nothing but a driver. Then it
 * waits to be killed.
 */

const [address, python, state] = process.argv.slice(2);
await loadPlugin("verl/plugins");
const { Prober } = await importSource(new URL("prober.ts", import.meta.url).href);
const ray = { address, host: null, port: 0, python, tls_cert: null, tls_key: null };
const transport = new RayTransport({ controller: { ray } }, createLogger(), new AbortController().signal);
if (state === "idle") {
  await transport.resources();
  console.log(state);
  setInterval(() => undefined, 1000);
} else {
  const probers = await WorkerGroup.create(Prober, [], { transport, pool: new ResourcePool([2]) });
  console.log(state);
  await probers.block(60_000);
}
