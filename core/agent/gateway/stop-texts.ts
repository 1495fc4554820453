import type { Tokenizer } from "../../data/tokenizer.ts";
import type { Generation } from "../../engine/rollout-engine.ts";

/**
 * The answer up to the first of the stop texts, and its text without it. The tokens that make up the stop text stay: they were sampled,
 * and the next turn follows them. What was sampled after it is dropped.
 */
export function cutAtStop(
  generation: Generation,
  stops: readonly string[],
  tokenizer: Pick<Tokenizer, "decode" | "eosTokenId">,
  skipSpecialTokens: boolean,
): { answer: Generation; text: string } {
  const { ids, logprobs } = generation;
  const read = (part: Int32Array): string => tokenizer.decode(part, { skipSpecialTokens });
  const text = read(ids.at(-1) === tokenizer.eosTokenId ? ids.subarray(0, -1) : ids);
  const found = stops.map((stop) => ({ stop, at: text.indexOf(stop) })).filter(({ at }) => at >= 0);
  if (found.length === 0) return { answer: generation, text };
  const { stop, at } = found.reduce((first, one) => (one.at < first.at ? one : first));

  // The shortest run of tokens that holds the whole stop text.
  let [low, high] = [1, ids.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (read(ids.subarray(0, middle)).includes(stop)) high = middle;
    else low = middle + 1;
  }
  const answer = {
    ...generation,
    ids: ids.slice(0, low),
    logprobs: logprobs.slice(0, low),
    stopReason: "stop" as const,
  };
  return { answer, text: text.slice(0, at) };
}
