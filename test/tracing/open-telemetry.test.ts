import { AsyncLocalStorage } from "node:async_hooks";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { context, ROOT_CONTEXT, trace, type Context, type ContextManager } from "@opentelemetry/api";
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-base";
import { openTelemetrySink } from "../../core/agent/tracing/index.ts";
import { errorOf } from "../data/helpers.ts";
import { runTraced } from "./support.ts";

const exporter = new InMemorySpanExporter();

/** As an SDK for Node brings it. */
class AsyncContexts implements ContextManager {
  private readonly storage = new AsyncLocalStorage<Context>();
  active = (): Context => this.storage.getStore() ?? ROOT_CONTEXT;
  with: ContextManager["with"] = (inside, work, self, ...args) =>
    this.storage.run(inside, () => work.apply(self!, args));
  bind: ContextManager["bind"] = (_inside, target) => target;
  enable = (): this => this;
  disable = (): this => this;
}

beforeAll(() => {
  trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }));
  context.setGlobalContextManager(new AsyncContexts());
});
beforeEach(() => exporter.reset());
afterAll(() => {
  trace.disable();
  context.disable();
});

describe("spans of OpenTelemetry", () => {
  it("are one an answer, with its generations, tool calls and the agent's own spans below it", async () => {
    const between = () => trace.getTracer("mine").startSpan("my own").end();
    await runTraced(await openTelemetrySink(), { prompts: 1, between });
    const spans = exporter.getFinishedSpans();
    const rollouts = spans.filter(({ name }) => name === "rollout");
    expect(rollouts).toHaveLength(2);
    const [first] = rollouts;
    expect(first!.attributes).toMatchObject({
      "verl.step": 7,
      "verl.uid": "u1",
      "verl.agent": "two_turns",
      "verl.stop_reason": "stop",
      "verl.num_turns": 4,
    });
    const below = spans.filter(({ parentSpanContext }) => parentSpanContext?.spanId === first!.spanContext().spanId);
    expect(below.map(({ name }) => name).sort()).toEqual(["generate", "generate", "my own", "tool"]);
    expect(below.filter(({ name }) => name === "generate").map(({ attributes }) => attributes["gen_ai.usage.input_tokens"])).toEqual([1, 4]); // prettier-ignore
    expect(below.find(({ name }) => name === "tool")).toMatchObject({
      duration: [0, 250_000_000],
      status: { message: "too large" },
      attributes: { "gen_ai.tool.name": "calc", "verl.tool.argument_chars": 25, "verl.tool.outcome": "error" },
    });
  });

  it("say what failed", async () => {
    await runTraced(await openTelemetrySink(), { prompts: 1, failing: [0] });
    const failed = exporter.getFinishedSpans().filter(({ status }) => status.message === "out of memory");
    expect(failed.map(({ name }) => name).sort()).toEqual(["generate", "rollout"]);
  });

  it("need the package, and say so", async () => {
    const error = await errorOf(() => openTelemetrySink(() => Promise.reject(new Error("Cannot find package"))));
    expect(error).toMatchObject({ code: "VERL_TRACE_BACKEND", message: expect.stringContaining("@opentelemetry/api") });
  });
});
