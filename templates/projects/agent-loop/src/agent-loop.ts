import {
  AgentLoop,
  inject,
  OPTIONS,
  TrajectoryRecorder,
  type AgentContext,
  type AgentSample,
  type Trajectory,
} from "verl";

/** Asks again while an answer ran into the length limit, and keeps the last one. */
export class PatientLoop extends AgentLoop {
  constructor(@inject(OPTIONS) private readonly options: { tries: number }) {
    super();
  }

  async run({ promptIds, uid, sampleIndex }: AgentSample, ctx: AgentContext): Promise<Trajectory> {
    const { rollout, sampling, signal } = ctx;
    for (let tries = 1; ; tries++) {
      // Another seed, or the model would say the same again.
      const seed = (sampling.seed + tries - 1) >>> 0;
      const sticky = `${uid}/${sampleIndex}`;
      const generation = await rollout.generate(promptIds, { ...sampling, seed }, { signal, sticky });
      if (generation.stopReason === "length" && tries < this.options.tries) {
        ctx.metric("agent_loop/asked_again_count", 1);
        continue;
      }
      // Tokens in, tokens out: what was sampled goes in with its log-probs, and is never encoded anew.
      const trajectory = new TrajectoryRecorder(promptIds);
      trajectory.sampled(generation);
      return trajectory.end({ stopReason: generation.stopReason, numTurns: 2, extraFields: { tries } });
    }
  }
}
