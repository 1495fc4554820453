import { AgentLoop, type AgentContext, type AgentSample } from "../../core/agent/agent-loop.ts";
import { LoopRunner } from "../../core/agent/loop-runner.ts";
import { RolloutTracer, type TraceSink } from "../../core/agent/tracing/index.ts";
import { TrajectoryRecorder, type Trajectory } from "../../core/agent/trajectory.ts";
import { DataProto } from "../../core/batch/data-proto.ts";
import { NdArray } from "../../core/batch/nd-array.ts";
import { createRng } from "../../core/tensor/rng.ts";
import { FakeRollout, generation } from "../agent/fake-rollout.ts";
import { recordingLogger } from "../data/helpers.ts";

const LETTERS = { decode: (ids: ArrayLike<number>) => Array.from(ids, (id) => String.fromCharCode(64 + id)).join("") };

/** Generates, calls a tool, generates. */
class TwoTurns extends AgentLoop {
  constructor(
    private readonly between: () => void = () => undefined,
    private readonly stopReason: Trajectory["stopReason"] = "stop",
  ) {
    super();
  }

  async run({ promptIds }: AgentSample, ctx: AgentContext): Promise<Trajectory> {
    const trajectory = new TrajectoryRecorder(promptIds);
    trajectory.sampled(await ctx.rollout.generate(promptIds, ctx.sampling));
    this.between();
    ctx.toolCalled(0.25, { name: "calc", arguments: { n: 2n ** 60n }, outcome: "error", error: "too large" });
    trajectory.observed(Int32Array.of(2));
    trajectory.sampled(await ctx.rollout.generate(trajectory.ids(), ctx.sampling));
    return trajectory.end({ stopReason: this.stopReason, numTurns: 4 });
  }
}

interface TraceRun {
  prompts?: number;
  maxSamples?: number | null;
  /** Keeps texts, decoded so. */
  texts?: boolean | (() => string);
  /** Generations that fail, by their number. */
  failing?: readonly number[];
  between?: () => void;
  seed?: number;
  stopReason?: Trajectory["stopReason"];
}

/** Answers prompts twice each, as step 7. */
export async function runTraced(
  sink: TraceSink,
  { prompts = 4, maxSamples = null, texts = false, failing = [], between, seed = 0, stopReason }: TraceRun = {},
) {
  const log = recordingLogger();
  let generated = 0;
  const rollout = new FakeRollout(() => {
    if (failing.includes(generated++)) throw new Error("out of memory");
    return generation([8, 9]);
  });
  const tracer = new RolloutTracer({
    sink,
    maxSamples,
    log,
    ...(texts ? { tokenizer: texts === true ? LETTERS : { decode: texts } } : {}),
  });
  const runner = new LoopRunner({
    rollout,
    createLoop: () => new TwoTurns(between, stopReason),
    defaultLoop: "two_turns",
    promptLength: 1,
    responseLength: 8,
    padTokenId: 0,
    log,
    retryDelay: 0,
    tracer,
  });
  const ids = Int32Array.from({ length: prompts }, (_, row) => row + 1);
  const batch = new DataProto({
    batch: {
      prompts: new NdArray("int32", [prompts, 1], ids),
      attention_mask: new NdArray("int32", [prompts, 1], new Int32Array(prompts).fill(1)),
    },
    nonTensorBatch: {
      raw_prompt: Array.from(ids, () => []),
      uid: Array.from(ids, (id) => `u${id}`),
    },
  }).repeat(2);
  const sampling = { temperature: 1, top_k: -1, top_p: 1, stop_token_ids: [] };
  const { signal } = new AbortController();
  const result = await runner.run(batch, { sampling, rng: createRng(seed), validate: false, signal, step: 7 });
  return { result, log };
}
