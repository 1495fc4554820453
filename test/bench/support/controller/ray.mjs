import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { startCluster } from "../../../controller/ray/support/cluster.ts";

/*
 * A cluster, and beside it the program that measures: by itself, since what compiles this one's imports fills its heap, and each large
 * batch that comes makes V8 look through the heap. The cluster runs in the environment that people run Ray in.
 */
const { GLIBC_TUNABLES: tunables, ...env } = process.env;
delete process.env.GLIBC_TUNABLES;
const cluster = startCluster({ cpus: 4 });
try {
  const measure = fileURLToPath(new URL("round-trips.mjs", import.meta.url));
  const { status } = spawnSync(process.execPath, [measure, cluster.address, cluster.python], {
    stdio: "inherit",
    env: { ...env, ...(tunables !== undefined && { GLIBC_TUNABLES: tunables }) },
  });
  process.exitCode = status ?? 1;
} finally {
  cluster.stop();
}
