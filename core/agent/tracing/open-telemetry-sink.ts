import type * as OpenTelemetry from "@opentelemetry/api";
import { VerlError } from "../../errors/verl-error.ts";
import type { TraceRecord, TraceSink, TraceSpan } from "./trace-record.ts";

const PACKAGE = "@opentelemetry/api";

/**
 * Traces as OpenTelemetry spans: one an answer, and below it one for each generation and tool call. They go wherever the SDK sends them that
 * the program set up; spans of the agent's own code stand below the answer's too.
 * @throws VerlError VERL_TRACE_BACKEND when the API is not installed
 */
export async function openTelemetrySink(
  load: (name: string) => Promise<unknown> = (name) => import(name),
): Promise<TraceSink> {
  const api = await load(PACKAGE).then(
    (module) => module as typeof OpenTelemetry,
    (cause: unknown) => {
      throw new VerlError("VERL_TRACE_BACKEND", `The package ${PACKAGE} is not installed.`, {
        location: { path: "actor_rollout_ref.rollout.trace.backend" },
        hint: `Run \`npm install ${PACKAGE}\`, and set up an SDK that exports the spans (node --import); or set the backend to jsonl.`,
        cause,
      });
    },
  );
  return sinkOf(api);
}

function sinkOf({ context, SpanStatusCode, trace }: typeof OpenTelemetry): TraceSink {
  const tracer = trace.getTracer("verl");
  return {
    begin({ step, split, uid, sample_index, attempt, agent }) {
      const span = tracer.startSpan("rollout", {
        attributes: {
          "verl.step": step,
          "verl.split": split,
          "verl.uid": uid,
          "verl.sample_index": sample_index,
          "verl.attempt": attempt,
          "verl.agent": agent,
        },
      });
      const inside = trace.setSpan(context.active(), span);
      const fail = (failed: OpenTelemetry.Span, message: string | undefined): void => {
        if (message !== undefined) failed.setStatus({ code: SpanStatusCode.ERROR, message });
      };
      return {
        run: (work) => context.with(inside, work),
        end(record) {
          const began = Date.parse(record.started);
          for (const part of record.spans) {
            const startTime = began + part.start;
            const child = tracer.startSpan(part.name, { startTime, attributes: attributesOf(part) }, inside);
            fail(child, part.error);
            child.end(startTime + part.ms);
          }
          span.setAttributes(outcomeOf(record));
          fail(span, record.error);
          span.end();
        },
      };
    },
  };
}

/** Names of OpenTelemetry's conventions for generative models, where there are any. */
function attributesOf(span: TraceSpan): OpenTelemetry.Attributes {
  return {
    "gen_ai.usage.input_tokens": span.prompt_tokens,
    "gen_ai.usage.output_tokens": span.response_tokens,
    "gen_ai.response.finish_reasons": span.stop_reason === undefined ? undefined : [span.stop_reason],
    "gen_ai.tool.name": span.tool,
    "verl.tool.argument_chars": span.argument_chars,
    "verl.tool.outcome": span.outcome,
    "verl.weight_version": span.weight_version,
    "verl.prompt": span.prompt,
    "verl.response": span.response,
  };
}

const outcomeOf = ({ stop_reason, num_turns }: TraceRecord): OpenTelemetry.Attributes => ({
  "verl.stop_reason": stop_reason,
  "verl.num_turns": num_turns,
});
