/** Takes numbers of the running step; the trainer drains it once a step. */
export interface MetricsSink {
  /** Adds a value under its full name (`tool/latency_ms`). Whether values of one name are summed or averaged is the sink's rule. */
  add(name: string, value: number): void;
}
