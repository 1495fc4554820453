import type { Generation, RolloutEngine, SamplingParams } from "../engine/index.ts";
import { letterTokenizer, otherId } from "./letter-tokenizer.ts";

/** One generation with what it was asked for. */
export interface Sampled extends Generation {
  readonly promptIds: Int32Array;
}

/**
 * A rollout engine that says what a script has, then random letters: the same for the same prompt and seed. Some of its ids are the
 * letters' second ones.
 */
export class ScriptedRollout implements RolloutEngine {
  readonly weightVersion = 3;
  readonly sampled: Sampled[] = [];

  constructor(private readonly script: readonly string[] = []) {}

  generate(
    promptIds: Int32Array,
    sampling: SamplingParams,
    options: { signal?: AbortSignal } = {},
  ): Promise<Generation> {
    options.signal?.throwIfAborted();
    const text = this.script[this.sampled.length] ?? letters(promptIds, sampling.seed);
    const whole = letterTokenizer.encode(`${text}\0`).map((id, at) => (at % 3 === 1 ? otherId(id) : id));
    const ids = whole.slice(0, Math.max(0, sampling.max_tokens));
    const logprobs = Float32Array.from(ids, (id, at) => -((id * 31 + at * 17) % 97) / 50 - 0.01);
    const stopReason = ids.length < whole.length ? ("length" as const) : ("stop" as const);
    const generation = { ids, logprobs, stopReason, weightVersion: this.weightVersion };
    this.sampled.push({ ...generation, promptIds: promptIds.slice() });
    return Promise.resolve(generation);
  }

  updateWeights(): Promise<void> {
    return Promise.resolve();
  }
  sleep(): Promise<void> {
    return Promise.resolve();
  }
  wake(): Promise<void> {
    return Promise.resolve();
  }
  abort(): Promise<void> {
    return Promise.resolve();
  }
  dispose(): void {}
}

/** A few letters that depend on the prompt and the seed. */
function letters(promptIds: Int32Array, seed: number): string {
  let state = promptIds.reduce((hash, id) => Math.imul(hash ^ id, 16_777_619) >>> 0, (seed ^ 0x811c9dc5) >>> 0);
  return Array.from({ length: 1 + (state % 7) }, () => {
    state = Math.imul(state, 1_664_525) + 1_013_904_223;
    return String.fromCharCode(97 + ((state >>> 16) % 26));
  }).join("");
}
