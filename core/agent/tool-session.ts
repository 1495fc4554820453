import { performance } from "node:perf_hooks";
import { reasonOf } from "../errors/reason-of.ts";
import { DeadlineError, withLazyDeadline } from "../reward/deadline.ts";
import { mapConcurrent } from "../reward/map-concurrent.ts";
import type { AgentContext, AgentSample, ToolCallNote } from "./agent-loop.ts";
import type { OfferedTool } from "./tool-box.ts";
import { givenReward } from "./given-reward.ts";
import { ToolInstance } from "./tool-instance.ts";
import type { ToolCall } from "./tool-parser.ts";
import { toolResultOf } from "./tool-result.ts";
import type { ToolContext, ToolResult } from "./tool.ts";
import { truncateParts } from "./truncate-parts.ts";
import { truncateText, type TruncateSide } from "./truncate-text.ts";

export interface ToolSessionOptions {
  /** Calls of one turn that run at once. */
  maxParallel: number;
  /** Seconds that one call may take, where its tool has no limit of its own. */
  timeout: number;
  /** Characters of a result that the model is shown, all its parts together. */
  maxLength: number;
  truncateSide: TruncateSide;
}

type Returned = ReturnType<typeof toolResultOf>;

/** What came of one call. */
export interface ToolAnswer {
  content: ToolResult["content"];
  reward?: number;
  /** The call named no tool of the sample's, or its arguments do not fit: nothing was run. */
  invalid: boolean;
}

/**
 * The tools of one sample, from the first call to the end: instances are opened at their first call and released by `close`, whatever
 * happened between. What goes wrong with a call is told to the model, never thrown; only the end of the sample itself is, and a reward
 * that is no finite number, which the model can do nothing about.
 */
export class ToolSession {
  private readonly instances = new Map<string, ToolInstance>();
  private readonly context: ToolContext;

  constructor(
    private readonly tools: ReadonlyMap<string, OfferedTool>,
    { row }: AgentSample,
    private readonly ctx: AgentContext,
    private readonly kwargs: Readonly<Record<string, unknown>>,
    private readonly options: ToolSessionOptions,
  ) {
    this.context = { row, signal: ctx.signal, metric: (name, value) => ctx.metric(name, value) };
  }

  /** Runs the calls of one turn, and gives their answers in order. @throws VerlError VERL_AGENT_REWARD */
  async run(calls: readonly ToolCall[]): Promise<ToolAnswer[]> {
    const [only] = calls;
    if (only !== undefined && calls.length === 1) return [await this.call(only)];
    return mapConcurrent(calls, this.options.maxParallel, (call) => this.call(call), this.ctx.signal);
  }

  /**
   * Releases every instance.
   * @returns the rewards that tools give for all that an instance did, by tool
   * @throws VerlError VERL_AGENT_REWARD, once all are released
   */
  async close(): Promise<Record<string, number>> {
    const rewards: Record<string, number> = {};
    const close = async ([name, instance]: [string, ToolInstance]): Promise<[name: string, given: unknown]> => {
      return [name, await instance.close(this.secondsOf(this.tools.get(name)!))];
    };
    for (const [name, given] of await Promise.all([...this.instances].map(close))) {
      const reward = givenReward(given, `calcReward of the tool "${name}"`);
      if (reward !== undefined) rewards[name] = reward;
    }
    return rewards;
  }

  private async call(call: ToolCall): Promise<ToolAnswer> {
    const offered = this.tools.get(call.name);
    if (offered === undefined) {
      const names = [...this.tools.keys()].join(", ") || "none";
      return this.refuse(call, `there is no tool "${call.name}". The tools are: ${names}.`);
    }
    const fault = offered.faults(call.arguments);
    if (fault !== undefined) return this.refuse(call, `the arguments of "${call.name}" do not fit: ${fault}.`);
    const started = performance.now();
    const note: ToolCallNote = { name: call.name, arguments: call.arguments, outcome: "ok" };
    let result: Returned;
    try {
      const execute = (signal: () => AbortSignal): Promise<Returned> => this.execute(offered, call, signal);
      result = await withLazyDeadline(this.secondsOf(offered), execute, this.ctx.signal);
    } catch (error) {
      const reason = reasonOf(error);
      note.outcome = error instanceof DeadlineError ? "timeout" : "error";
      if (error instanceof DeadlineError) this.instances.get(call.name)?.timedOut();
      note.error = reason;
      this.ctx.signal.throwIfAborted();
      this.ctx.metric("agent_loop/tool_errors_count", 1);
      return { content: this.shown(`Error when executing tool: ${reason}`), invalid: false };
    } finally {
      this.ctx.toolCalled((performance.now() - started) / 1000, note);
    }
    const reward = givenReward(result.reward, `The tool "${call.name}"`);
    return { content: this.shown(result.content), reward, invalid: false };
  }

  private async execute({ tool, schema }: OfferedTool, call: ToolCall, signal: () => AbortSignal): Promise<Returned> {
    const { context } = this;
    const { name } = schema.function;
    let instance = this.instances.get(name);
    if (instance === undefined) {
      const own = (this.kwargs[name] as { create_kwargs?: Record<string, unknown> | null } | null | undefined)
        ?.create_kwargs;
      // Not the call's own signal: the instance outlives the call that opened it.
      instance = new ToolInstance(tool, own ?? {}, context);
      this.instances.set(name, instance);
      // The next call tries anew.
      instance.id().catch(() => this.instances.delete(name));
    }
    const id = await instance.id();
    const returned: unknown = await tool.execute(id, call.arguments, {
      row: context.row,
      metric: (metric, value) => context.metric(metric, value),
      get signal() {
        return signal();
      },
    });
    return toolResultOf(name, returned);
  }

  private refuse(call: ToolCall, reason: string): ToolAnswer {
    this.ctx.toolCalled(0, { name: call.name, arguments: call.arguments, outcome: "invalid", error: reason });
    return { content: this.shown(`Error: ${reason}`), invalid: true };
  }

  private shown(content: ToolResult["content"]): ToolResult["content"] {
    const { maxLength, truncateSide } = this.options;
    if (typeof content === "string") return truncateText(content, maxLength, truncateSide);
    return truncateParts(content, maxLength, truncateSide);
  }

  private secondsOf({ timeout }: OfferedTool): number {
    return timeout ?? this.options.timeout;
  }
}
