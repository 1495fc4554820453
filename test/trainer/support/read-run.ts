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

/** Without what depends on the clock. */
export function timeless({ data }: LoggedStep): Record<string, number> {
  const clock = /^(timing_|perf\/(time|throughput)|agent_loop\/generate_sequences)/;
  return Object.fromEntries(Object.entries(data).filter(([name]) => !clock.test(name)));
}
