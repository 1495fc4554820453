import { readFileSync } from "node:fs";

export interface LoggedStep {
  step: number;
  data: Record<string, number>;
}

/** Lines of a run's metrics.jsonl. */
export function metricsOf(directory: string): LoggedStep[] {
  const lines = readFileSync(`${directory}/metrics.jsonl`, "utf8").trim().split("\n");
  return lines.map((line) => JSON.parse(line) as LoggedStep);
}

/** Without what depends on the clock and on the process. */
export function timeless({ data }: LoggedStep): Record<string, number> {
  const incidental =
    /^(timing_|perf\/(time|throughput|cpu_memory)|(val-aux\/)?(agent_loop\/(generate_sequences|slowest)|reward\/time_s))/;
  return Object.fromEntries(Object.entries(data).filter(([name]) => !incidental.test(name)));
}
