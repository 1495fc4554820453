/*
 * `node scripts/ray/in-namespace.mjs command…`: runs a command where Ray can do no harm. Its network has nothing but a loopback (Ray
 * listens on every address there is), and what is left of its processes ends with it. The command gets VERL_RAY_PYTHON.
 */
import { spawnSync } from "node:child_process";
import { rayPython } from "./python.mjs";

const [command, ...args] = process.argv.slice(2);
if (!command) {
  console.error("Usage: node scripts/ray/in-namespace.mjs command…");
  process.exit(2);
}
const own = process.getuid() === 0 ? [] : ["--user", "--map-root-user"];
const namespaces = [...own, "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"];
const inside = ["sh", "-c", 'ip link set lo up && exec "$0" "$@"', command, ...args];
const { status, error } = spawnSync("unshare", [...namespaces, "--", ...inside], {
  stdio: "inherit",
  env: { ...process.env, VERL_RAY_PYTHON: rayPython() },
});
if (error) console.error(`A network namespace is needed, and could not be made: ${error.message}`);
process.exit(status ?? 1);
