import type { Tokenizer } from "../../data/tokenizer.ts";
import type { Logger } from "../../registry/logger.ts";
import type { Rng } from "../../tensor/rng.ts";
import type { AgentSample } from "../agent-loop.ts";
import { SampleTrace } from "./sample-trace.ts";
import type { TracedSample, TraceSink } from "./trace-record.ts";

export interface RolloutTracerOptions {
  sink: TraceSink;
  /** `trace.max_samples_per_step_per_worker`: prompts a step, all answers to each; null: all. */
  maxSamples: number | null;
  /** `trace.token2text`: given where texts are kept. */
  tokenizer?: Pick<Tokenizer, "decode">;
  log: Pick<Logger, "warn">;
}

/** Traces a few answers of each step. */
export class RolloutTracer {
  private told = false;

  constructor(private readonly options: RolloutTracerOptions) {}

  /**
   * The traces of one step.
   * @param uids of the step's prompts, of which as many as are allowed are drawn
   */
  step(about: Pick<TracedSample, "step" | "split">, uids: Iterable<string>, rng: Rng): StepTracer {
    const { maxSamples } = this.options;
    const all = [...new Set(uids)];
    const picked = maxSamples === null || maxSamples >= all.length ? all : rng.shuffle(all).slice(0, maxSamples);
    return new StepTracer(about, new Set(picked), this.options, (error) => this.tell(error));
  }

  private tell(error: unknown): void {
    if (this.told) return;
    this.told = true;
    this.options.log.warn(`A rollout trace could not be written; the run goes on without. ${String(error)}`);
  }
}

/** Begins the traces of the answers that were drawn. */
export class StepTracer {
  constructor(
    private readonly about: Pick<TracedSample, "step" | "split">,
    private readonly picked: ReadonlySet<string>,
    private readonly options: RolloutTracerOptions,
    private readonly failed: (error: unknown) => void,
  ) {}

  /** Undefined for answers that are not traced, or cannot be. */
  begin({ uid, sampleIndex }: AgentSample, agent: string, attempt: number): SampleTrace | undefined {
    if (!this.picked.has(uid)) return undefined;
    const sample: TracedSample = { ...this.about, uid, sample_index: sampleIndex, attempt, agent };
    const { sink, tokenizer } = this.options;
    try {
      const open = sink.begin(sample);
      if (open instanceof Promise) open.catch(this.failed);
      if (typeof open?.run !== "function" || typeof open.end !== "function")
        throw new TypeError("A trace sink's begin must return { run, end }, and no promise of it.");
      return new SampleTrace(sample, open, tokenizer, this.failed);
    } catch (error) {
      this.failed(error);
      return undefined;
    }
  }
}
