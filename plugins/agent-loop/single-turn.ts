import { AgentLoop, TrajectoryRecorder, type AgentContext, type AgentSample, type Trajectory } from "verl";

/** One question, one answer. */
export class SingleTurnAgentLoop extends AgentLoop {
  async run(sample: AgentSample, { rollout, sampling, signal }: AgentContext): Promise<Trajectory> {
    const trajectory = new TrajectoryRecorder(sample.promptIds);
    const generation = await rollout.generate(sample.promptIds, sampling, { signal, sticky: sample.uid });
    trajectory.sampled(generation);
    return trajectory.end({ stopReason: generation.stopReason, numTurns: 2 });
  }
}
