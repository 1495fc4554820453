import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";

/**
 * Physical cores that this process may use. Two hyper-threads share one core's vector units, so that a second thread on it
 * only slows matrix products down. Where the platform does not tell, every logical core counts.
 */
export function physicalCores(): number {
  const logical = availableParallelism();
  try {
    const cores = new Set<string>();
    for (const processor of readFileSync("/proc/cpuinfo", "utf8").split("\n\n")) {
      const socket = /^physical id\s*: (\d+)$/m.exec(processor)?.[1];
      const core = /^core id\s*: (\d+)$/m.exec(processor)?.[1];
      if (socket !== undefined && core !== undefined) cores.add(`${socket}:${core}`);
    }
    return cores.size === 0 ? logical : Math.min(cores.size, logical);
  } catch {
    return logical;
  }
}
