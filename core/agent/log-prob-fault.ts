/** Rounding takes the log-prob of a sure token above 0 by less. */
const ROUNDING = 1e-3;

/** What makes the log-probs of sampled tokens unfit to train on, in words behind "has"; undefined where nothing does. */
export function logProbFault(ids: ArrayLike<number>, logprobs: Float32Array): string | undefined {
  if (logprobs.length !== ids.length) return `${ids.length} tokens but ${logprobs.length} log-probs`;
  const at = logprobs.findIndex((logprob) => !(logprob > -Infinity && logprob <= ROUNDING));
  return at < 0 ? undefined : `a log-prob of ${logprobs[at]} (token ${at})`;
}
