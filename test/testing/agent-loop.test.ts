import {
  AGENT_PARTS,
  AgentLoop,
  schemasOf,
  ToolSession,
  TrajectoryRecorder,
  TurnTokens,
  type AgentContext,
  type AgentParts,
  type AgentSample,
  type Trajectory,
} from "../../core/agent/index.ts";
import type { Tokenizer } from "../../core/data/index.ts";
import type { Generation } from "../../core/engine/index.ts";
import { inject, TOKENIZER } from "../../core/registry/index.ts";
import { testAgentLoop } from "../../core/testing/index.ts";
import { faultsOfData, testFaults } from "./faults.ts";

/** Asks for an answer, and once more after a call; what a test wants otherwise is overridden. */
class Honest extends AgentLoop {
  constructor(
    readonly tokenizer: Tokenizer,
    readonly parts: AgentParts,
  ) {
    super();
  }

  async run(sample: AgentSample, ctx: AgentContext): Promise<Trajectory> {
    const trajectory = new TrajectoryRecorder(sample.promptIds);
    const first = await this.generate(trajectory, ctx, sample);
    const shown = first.stopReason === "stop" ? await this.answerOf(first, sample, ctx) : undefined;
    if (shown === undefined || !this.fits(trajectory.responseLength + shown.length, ctx))
      return trajectory.end({ stopReason: first.stopReason, numTurns: 2 });
    this.show(trajectory, shown);
    const { stopReason } = await this.generate(trajectory, ctx, sample);
    return trajectory.end({ stopReason, numTurns: 4 });
  }

  protected async generate(trajectory: TrajectoryRecorder, ctx: AgentContext, _: AgentSample): Promise<Generation> {
    const max_tokens = ctx.sampling.max_tokens - trajectory.responseLength;
    const generation = await ctx.rollout.generate(
      trajectory.ids(),
      { ...ctx.sampling, max_tokens },
      { signal: ctx.signal },
    );
    trajectory.sampled(this.kept(generation));
    return generation;
  }

  protected kept(generation: Generation): Generation {
    return generation;
  }

  protected fits(length: number, { sampling }: AgentContext): boolean {
    return length < sampling.max_tokens;
  }

  protected show(trajectory: TrajectoryRecorder, ids: Int32Array): void {
    trajectory.observed(ids);
  }

  /** What stands between a call and the next generation; undefined without a call. */
  private async answerOf({ ids }: Generation, sample: AgentSample, ctx: AgentContext): Promise<Int32Array | undefined> {
    const tools = await this.parts.toolsOf(sample.row);
    const [call] = this.parts.parser.parse(this.tokenizer.decode(ids)).calls;
    if (call === undefined) return undefined;
    const limits = { maxParallel: 1, timeout: 10, maxLength: 256, truncateSide: "right" } as const;
    const session = new ToolSession(tools, sample, ctx, {}, limits);
    const [answer] = await session.run([call]);
    await session.close();
    const turns = new TurnTokens(this.tokenizer, { tools: schemasOf(tools) });
    return turns.after({ role: "assistant", content: "" }, ids.at(-1), [{ role: "tool", content: answer!.content }]);
  }
}
inject(TOKENIZER)(Honest, undefined, 0);
inject(AGENT_PARTS)(Honest, undefined, 1);

class OtherPrompt extends Honest {
  override async run(sample: AgentSample, ctx: AgentContext): Promise<Trajectory> {
    return { ...(await super.run(sample, ctx)), promptIds: sample.promptIds.slice(1) };
  }
}
/** Reads the text and writes it again: most tokens come out the same, and the rest was never sampled. */
class EncodesAgain extends Honest {
  protected override kept(generation: Generation): Generation {
    return { ...generation, ids: this.tokenizer.encode(this.tokenizer.decode(generation.ids)) };
  }
}
class TrainsOnTools extends Honest {
  protected override show(trajectory: TrajectoryRecorder, ids: Int32Array): void {
    trajectory.sampled({ ids, logprobs: new Float32Array(ids.length), stopReason: "stop", weightVersion: 0 });
  }
}
class OtherLogProbs extends Honest {
  protected override kept(generation: Generation): Generation {
    return { ...generation, logprobs: generation.logprobs.map((value) => value / 2) };
  }
}
class ForgetsTheAnswer extends Honest {
  protected override show(): void {
    // The next generation goes on as if nothing had been said.
  }
  protected override generate(trajectory: TrajectoryRecorder, ctx: AgentContext, sample: AgentSample) {
    const shown = new TrajectoryRecorder(trajectory.ids());
    shown.observed(this.tokenizer.encode("tool:"));
    const { rollout, signal } = ctx;
    const max_tokens = ctx.sampling.max_tokens - trajectory.responseLength;
    const prompt = trajectory.responseLength === 0 ? sample.promptIds : shown.ids();
    return rollout.generate(prompt, { ...ctx.sampling, max_tokens }, { signal }).then((generation) => {
      trajectory.sampled(generation);
      return generation;
    });
  }
}
class TooLong extends Honest {
  protected override generate(trajectory: TrajectoryRecorder, ctx: AgentContext, sample: AgentSample) {
    const max_tokens = ctx.sampling.max_tokens + trajectory.responseLength;
    return super.generate(trajectory, { ...ctx, sampling: { ...ctx.sampling, max_tokens } }, sample);
  }
}
class Shares extends Honest {
  private sample?: AgentSample;
  override run(sample: AgentSample, ctx: AgentContext): Promise<Trajectory> {
    this.sample = sample;
    return super.run(sample, ctx);
  }
  protected override async generate(trajectory: TrajectoryRecorder, ctx: AgentContext, sample: AgentSample) {
    await Promise.resolve();
    const { promptIds } = this.sample!;
    const generation = await ctx.rollout.generate(promptIds, ctx.sampling, { signal: ctx.signal });
    if (sample === this.sample) trajectory.sampled(generation);
    return generation;
  }
}
class NeverStops extends Honest {
  protected override generate(trajectory: TrajectoryRecorder, ctx: AgentContext, sample: AgentSample) {
    return super.generate(trajectory, { ...ctx, signal: new AbortController().signal }, sample);
  }
}
class HidesTheStop extends Honest {
  override async run(sample: AgentSample, ctx: AgentContext): Promise<Trajectory> {
    const nothing = new TrajectoryRecorder(sample.promptIds).end({ stopReason: "stop", numTurns: 2 });
    return super.run(sample, ctx).catch(() => nothing);
  }
}

const entry = (create: new (tokenizer: Tokenizer, parts: AgentParts) => AgentLoop) => ({
  description: "Asks once or twice.",
  create,
});
const TOKENS = "what is trained on is what the model sampled, after the very tokens that it saw";

testFaults("agent_loop", {
  suite: testAgentLoop,
  honest: entry(Honest),
  cases: [{ name: "one answer", input: { prompt: "hi", answers: ["ho"] }, expected: { trained: "ho\0" } }],
  wrongCases: [
    [
      'trained is "ho\\u0000", not "hi"',
      { name: "other text", input: { prompt: "hi", answers: ["ho"] }, expected: { trained: "hi" } },
    ],
    ["numTurns is 2, not 4", { name: "other turns", input: { prompt: "hi" }, expected: { numTurns: 4 } }],
  ],
  faults: [
    ...faultsOfData(entry(Honest)),
    { property: "the prompt is the row's", words: "it returns another prompt", entry: entry(OtherPrompt) },
    { property: TOKENS, words: "which the model did not say at that place", entry: entry(EncodesAgain) },
    { property: TOKENS, words: "which the model did not say at that place", entry: entry(TrainsOnTools) },
    { property: TOKENS, words: "its log-probs are not those of the generation", entry: entry(OtherLogProbs) },
    { property: TOKENS, words: "which the model did not say at that place", entry: entry(ForgetsTheAnswer) },
    { property: "the response has no more tokens than it may", words: "tokens of", entry: entry(TooLong) },
    {
      property: "the same sample and seed give the same trajectory, whatever else is under way",
      words: "beside another sample it gives",
      entry: entry(Shares),
    },
    { property: "a stop ends it", words: "although its signal has aborted", entry: entry(NeverStops) },
    { property: "a stop ends it", words: 'it returns "stop" as if nothing had happened', entry: entry(HidesTheStop) },
  ],
});
