import {
  AGENT_PARTS,
  AgentLoop,
  inject,
  schemasOf,
  TOKENIZER,
  ToolSession,
  TrajectoryRecorder,
  TurnTokens,
  type AgentContext,
  type AgentParts,
  type AgentSample,
  type Generation,
  type Tokenizer,
  type Trajectory,
} from "verl";

/** How tools of one sample are run. */
const LIMITS = { maxParallel: 1, timeout: 10, maxLength: 256, truncateSide: "right" } as const;

/** Asks once; where the answer calls a tool, shows the result and asks once more. */
export class OneCallLoop extends AgentLoop {
  constructor(
    @inject(TOKENIZER) private readonly tokenizer: Tokenizer,
    @inject(AGENT_PARTS) private readonly parts: AgentParts,
  ) {
    super();
  }

  async run(sample: AgentSample, ctx: AgentContext): Promise<Trajectory> {
    const trajectory = new TrajectoryRecorder(sample.promptIds);
    const first = await this.generate(trajectory, sample, ctx);
    const shown = first.stopReason === "stop" ? await this.runCall(first, sample, ctx) : undefined;
    if (shown === undefined) return trajectory.end({ stopReason: first.stopReason, numTurns: 2 });
    if (trajectory.responseLength + shown.length >= ctx.sampling.max_tokens)
      return trajectory.end({ stopReason: "length", numTurns: 3 });
    trajectory.observed(shown);
    const { stopReason } = await this.generate(trajectory, sample, ctx);
    return trajectory.end({ stopReason, numTurns: 4 });
  }

  /** The model goes on from all tokens so far; they are never encoded anew. */
  private async generate(trajectory: TrajectoryRecorder, sample: AgentSample, ctx: AgentContext): Promise<Generation> {
    const { rollout, sampling, signal } = ctx;
    const max_tokens = sampling.max_tokens - trajectory.responseLength;
    const sticky = `${sample.uid}/${sample.sampleIndex}`;
    const generation = await rollout.generate(trajectory.ids(), { ...sampling, max_tokens }, { signal, sticky });
    trajectory.sampled(generation);
    return generation;
  }

  /** Runs the first call of an answer. @returns tokens that show its result, up to the next generation; undefined without a call. */
  private async runCall({ ids }: Generation, sample: AgentSample, ctx: AgentContext): Promise<Int32Array | undefined> {
    const tools = await this.parts.toolsOf(sample.row);
    const schemas = [...tools.values()].map(({ schema }) => schema);
    const { calls } = this.parts.parser.parse(this.tokenizer.decode(ids), { tools: schemas });
    const [call] = calls;
    if (call === undefined) return undefined;
    ctx.metric("agent_loop/called_count", 1);
    const session = new ToolSession(tools, sample, ctx, {}, LIMITS);
    try {
      const [answer] = await session.run([call]);
      const turns = new TurnTokens(this.tokenizer, { tools: schemasOf(tools) });
      const calling = { id: "call00000", type: "function", function: { name: call.name, arguments: call.arguments } };
      const result = { role: "tool", tool_call_id: "call00000", name: call.name, content: answer!.content };
      return turns.after({ role: "assistant", content: "", tool_calls: [calling] }, ids.at(-1), [result]);
    } finally {
      await session.close();
    }
  }
}
