import type { Generation, RolloutEngine, SamplingParams } from "../../core/engine/rollout-engine.ts";

type Generate = (promptIds: Int32Array, sampling: SamplingParams) => Generation | Promise<Generation>;

/** A rollout engine that answers by a function. */
export class FakeRollout implements RolloutEngine {
  readonly weightVersion = 0;
  readonly calls: { promptIds: Int32Array; sampling: SamplingParams }[] = [];

  constructor(private readonly answer: Generate) {}

  async generate(promptIds: Int32Array, sampling: SamplingParams): Promise<Generation> {
    this.calls.push({ promptIds, sampling });
    return this.answer(promptIds, sampling);
  }

  async updateWeights(): Promise<void> {}
  async sleep(): Promise<void> {}
  async wake(): Promise<void> {}
  async abort(): Promise<void> {}
  dispose(): void {}
}

export function generation(ids: readonly number[], stopReason: Generation["stopReason"] = "stop"): Generation {
  return {
    ids: Int32Array.from(ids),
    logprobs: Float32Array.from(ids, (id) => -id / 10),
    stopReason,
    weightVersion: 0,
  };
}
