import { performance } from "node:perf_hooks";
import { reasonOf } from "../../errors/reason-of.ts";
import { stringifyLosslessJson } from "../../data/lossless-json.ts";
import type { Tokenizer } from "../../data/tokenizer.ts";
import type { Generation } from "../../engine/rollout-engine.ts";
import type { ToolCallNote } from "../agent-loop.ts";
import type { Trajectory } from "../trajectory.ts";
import type { OpenTrace, TracedSample, TraceRecord, TraceSpan } from "./trace-record.ts";

/** Notes what one attempt at an answer does, and hands it over at its end. */
export class SampleTrace {
  private readonly spans: TraceSpan[] = [];
  private readonly began: number;
  private readonly started: string;
  private ended = false;

  constructor(
    private readonly sample: TracedSample,
    private readonly open: OpenTrace,
    /** Decodes what is read and written; undefined: only counts are kept. */
    private readonly tokenizer: Pick<Tokenizer, "decode"> | undefined,
    private readonly failed: (error: unknown) => void,
    /** Milliseconds since the attempt began. */
    ms = 0,
  ) {
    this.began = performance.now() - ms;
    this.started = new Date(Date.now() - ms).toISOString();
  }

  /** Does the attempt's work, inside what the backend wants around it. @throws what the work throws, whatever the backend does */
  async run(work: () => Promise<Trajectory>): Promise<Trajectory> {
    let running: Promise<Trajectory> | undefined;
    const once = (): Promise<Trajectory> => (running ??= (async () => work())());
    this.guarded(async () => {
      try {
        await this.open.run(once);
      } catch (error) {
        // The work's own failure comes through the backend.
        const own = await once().then(
          () => undefined,
          (thrown: unknown) => ({ thrown }),
        );
        if (own?.thrown !== error) throw error;
      }
    });
    return once();
  }

  /** The attempt has this answer. */
  succeed({ stopReason, numTurns }: Trajectory): void {
    this.end({ stop_reason: stopReason, num_turns: numTurns });
  }

  /** The attempt was given up, whatever its work still does. */
  fail(error: unknown): void {
    this.end({ error: reasonOf(error) });
  }

  /** A generation that began `seconds` ago has ended. */
  generated(promptIds: Int32Array, seconds: number, result: Generation | { error: unknown }): void {
    const text = (ids: Int32Array): string | undefined => this.tokenizer?.decode(ids);
    this.add("generate", seconds, () => ({
      prompt_tokens: promptIds.length,
      prompt: text(promptIds),
      ...("error" in result
        ? { error: reasonOf(result.error) }
        : {
            response_tokens: result.ids.length,
            stop_reason: result.stopReason,
            weight_version: result.weightVersion,
            response: text(result.ids),
          }),
    }));
  }

  /** A tool call that began `seconds` ago has ended. */
  toolCalled(seconds: number, call?: ToolCallNote): void {
    this.add("tool", seconds, () => {
      if (call === undefined) return {};
      const { name: tool, outcome, error } = call;
      const argument_chars = stringifyLosslessJson(call.arguments).length;
      return { tool, argument_chars, outcome, ...(error !== undefined && { error }) };
    });
  }

  private add(name: TraceSpan["name"], seconds: number, rest: () => Partial<TraceSpan>): void {
    if (this.ended) return;
    const ms = seconds * 1000;
    const start = performance.now() - this.began - ms;
    this.guarded(() => void this.spans.push({ name, start, ms, ...rest() }));
  }

  private end(outcome: Pick<TraceRecord, "stop_reason" | "num_turns" | "error">): void {
    if (this.ended) return;
    this.ended = true;
    const { sample, started, spans } = this;
    this.guarded(() => this.open.end({ ...sample, started, ms: performance.now() - this.began, ...outcome, spans }));
  }

  /** A trace that cannot be made is no reason to lose the answer. */
  private guarded(act: () => unknown): void {
    try {
      const result = act();
      if (result instanceof Promise) result.catch(this.failed);
    } catch (error) {
      this.failed(error);
    }
  }
}
