import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";

/**
 * What a script of the benches prints in Python, parsed; undefined where there is no Python with PyTorch. It runs in the environment
 * that people run Python in: the tunables of glibc that `verl` starts with are Node's alone.
 * @param script relative to the folder of the benches
 */
export function inPython(script, args, python = process.env.VERL_BENCH_PYTHON) {
  if (!python) return undefined;
  const { GLIBC_TUNABLES: _, ...env } = process.env;
  const path = fileURLToPath(new URL(`../${script}`, import.meta.url));
  return JSON.parse(execFileSync(python, [path, ...args.map(String)], { encoding: "utf8", env }));
}
