/** The conformance kit over every built-in algorithm on `ort`, whose losses are kernels here: the kit's tensors are in memory. */
import { activateBackend, loadPlugins } from "../../core/index.ts";

await loadPlugins([]);
await activateBackend("ort", { threads: 1 });
await import("./built-ins.test.ts");
