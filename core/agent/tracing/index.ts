export { openTelemetrySink } from "./open-telemetry-sink.ts";
export { RolloutTracer, StepTracer, type RolloutTracerOptions } from "./rollout-tracer.ts";
export type { OpenTrace, TracedSample, TraceRecord, TraceSink, TraceSpan } from "./trace-record.ts";
