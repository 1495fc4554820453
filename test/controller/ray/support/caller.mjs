import { createLogger, importSource, loadPlugin, RayTransport, ResourcePool, WorkerGroup } from "verl";

/*
 * A controller that calls two ranks without end, with payloads of up to 8 MB, and starts them anew when they are lost. Each line says what
 * became of a group: `up`, or `lost: why`.
 */

const [address, python] = process.argv.slice(2);
await loadPlugin("verl/plugins");
const { Prober } = await importSource(new URL("prober.ts", import.meta.url).href);
const ray = { address, host: null, port: 0, python, tls_cert: null, tls_key: null };
const log = createLogger({ level: "silent" });
const newTransport = () => new RayTransport({ controller: { ray } }, log, new AbortController().signal);
const pool = new ResourcePool([2]);

for (let transport = newTransport(); ;) {
  let group;
  try {
    group = await WorkerGroup.create(Prober, [], { transport, pool, log });
    await group.sum(new Float32Array(1));
    console.log("up");
    for (let size = 1; ; size = (size * 7) % 9) await group.sum(new Float32Array(size << 18).fill(size));
  } catch (error) {
    console.log(`lost: ${error.message.split("\n")[0]}`);
    await group?.dispose();
    if (/driver/.test(error.message)) {
      await transport.close();
      transport = newTransport();
    }
  }
}
