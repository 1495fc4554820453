import type { SamplingParams } from "../../engine/rollout-engine.ts";
import type { GenerationRequest } from "./generation-request.ts";
import type { NotedField } from "./read-fields.ts";

export interface SamplingRules {
  /** What requests leave open. `max_tokens` is what a conversation may have after its first prompt, its later messages included. */
  sampling: SamplingParams;
  /** Whether requests choose temperature, top_p, top_k and seed. Where a policy is trained they do not: log-probs hold for one sampling. */
  choosesSampling: boolean;
}

/** Spreads the seeds of a session's requests. */
const SEED_STEP = 0x9e3779b1;

/**
 * How the answer to a request is sampled.
 * @param ordinal Number of the request in its session.
 * @param room Tokens that the answer may have.
 */
export function samplingOf(
  { temperature, topP, topK, seed: wanted, maxTokens = Infinity }: GenerationRequest,
  { sampling: run, choosesSampling }: SamplingRules,
  ordinal: number,
  room: number,
): SamplingParams {
  const asked = Object.entries({ temperature, top_p: topP, top_k: topK }).filter(([, value]) => value !== undefined);
  const own = choosesSampling ? Object.fromEntries(asked) : {};
  const seed = (choosesSampling ? wanted : undefined) ?? run.seed + ordinal * SEED_STEP;
  return { ...run, ...own, seed: seed >>> 0, max_tokens: Math.min(maxTokens, room) };
}

/** The request's fields that are to be counted: without those of sampling that the session serves, or that ask for the run's own. */
export function notServed(
  { noted, seed, temperature, topP, topK }: GenerationRequest,
  { sampling: run, choosesSampling }: SamplingRules,
): NotedField[] {
  const differs: Record<string, boolean> = {
    temperature: temperature !== undefined && temperature !== run.temperature,
    top_p: topP !== undefined && topP !== run.top_p,
    top_k: topK !== undefined && topK !== run.top_k,
    seed: seed !== undefined,
  };
  return noted.filter(({ field }) => !Object.hasOwn(differs, field) || (!choosesSampling && differs[field] === true));
}
