import { AgentLoop, TrajectoryRecorder, type AgentContext, type AgentSample, type Trajectory } from "verl";

/** One question, one answer. */
export class SingleTurnAgentLoop extends AgentLoop {
  async run({ promptIds, uid, sampleIndex }: AgentSample, ctx: AgentContext): Promise<Trajectory> {
    const { rollout, sampling, signal } = ctx;
    const trajectory = new TrajectoryRecorder(promptIds);
    const generation = await rollout.generate(promptIds, sampling, { signal, sticky: `${uid}/${sampleIndex}` });
    trajectory.sampled(generation);
    return trajectory.end({ stopReason: generation.stopReason, numTurns: 2 });
  }
}
