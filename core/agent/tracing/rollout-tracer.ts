import type { Tokenizer } from "../../data/tokenizer.ts";
import { reasonOf } from "../../errors/reason-of.ts";
import type { Logger } from "../../registry/logger.ts";
import type { Rng } from "../../tensor/rng.ts";
import type { AgentSample } from "../agent-loop.ts";
import { SampleTrace } from "./sample-trace.ts";
import type { OpenTrace, TracedSample, TraceSink } from "./trace-record.ts";

export interface RolloutTracerOptions {
  sink: TraceSink;
  /** `trace.max_samples_per_step_per_worker`: prompts a step, all answers to each; null: all. Some of the others' failed attempts come beside them. */
  maxSamples: number | null;
  /** `trace.token2text`: given where texts are kept. */
  tokenizer?: Pick<Tokenizer, "decode">;
  log: Pick<Logger, "warn">;
}

/** Failed attempts of a step that are traced though their prompts were not drawn, each by another error. */
const FAILURES = 8;

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

/** Begins the traces of the answers that were drawn, and notes what others failed by. */
export class StepTracer {
  private readonly errors = new Set<string>();

  constructor(
    private readonly about: Pick<TracedSample, "step" | "split">,
    private readonly picked: ReadonlySet<string>,
    private readonly options: RolloutTracerOptions,
    private readonly failedToWrite: (error: unknown) => void,
  ) {}

  /** Undefined for answers that are not traced, or cannot be. */
  begin({ uid, sampleIndex }: AgentSample, agent: string, attempt: number): SampleTrace | undefined {
    if (!this.picked.has(uid)) return undefined;
    const about: TracedSample = { ...this.about, uid, sample_index: sampleIndex, attempt, agent };
    const open = this.open(about);
    return open && new SampleTrace(about, open, this.options.tokenizer, this.failedToWrite);
  }

  /** An attempt at an answer that was not drawn has failed: it is traced all the same, without what it did, or nobody could tell why. */
  failed({ uid, sampleIndex }: AgentSample, agent: string, attempt: number, ms: number, failure: unknown): void {
    const error = reasonOf(failure);
    if (this.picked.has(uid) || this.errors.has(error) || this.errors.size >= FAILURES) return;
    this.errors.add(error);
    const about: TracedSample = { ...this.about, uid, sample_index: sampleIndex, attempt, agent };
    const open = this.open(about);
    if (open) new SampleTrace(about, open, undefined, this.failedToWrite, ms).fail(failure);
  }

  private open(sample: TracedSample): OpenTrace | undefined {
    try {
      const open = this.options.sink.begin(sample);
      if (open instanceof Promise) open.catch(this.failedToWrite);
      if (typeof open?.run !== "function" || typeof open.end !== "function")
        throw new TypeError("A trace sink's begin must return { run, end }, and no promise of it.");
      return open;
    } catch (error) {
      this.failedToWrite(error);
      return undefined;
    }
  }
}
