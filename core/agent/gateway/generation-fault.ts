import type { Generation } from "../../engine/rollout-engine.ts";
import { VerlError } from "../../errors/index.ts";

/** Rounding takes the log-prob of a sure token above 0 by less. */
const ROUNDING = 1e-3;

/** What makes an engine's answer unfit to train on; undefined where nothing does. */
export function generationFault({ ids, logprobs }: Generation): VerlError | undefined {
  const hint = "The rollout engine is at fault: it gives one log-prob a sampled token, a finite number of at most 0.";
  if (ids.length !== logprobs.length) {
    const what = `A generation has ${ids.length} tokens but ${logprobs.length} log-probs.`;
    return new VerlError("VERL_AGENT_TRAJECTORY", what, { hint });
  }
  const at = logprobs.findIndex((logprob) => !(logprob > -Infinity && logprob <= ROUNDING));
  if (at < 0) return undefined;
  const what = `The log-prob of token ${at} of a generation is ${logprobs[at]}.`;
  return new VerlError("VERL_AGENT_TRAJECTORY", what, { hint });
}
