import type { Tokenizer } from "../../data/tokenizer.ts";
import type { Generation } from "../../engine/rollout-engine.ts";

/** One way in which a client's history may have an answer, and the sampled tokens that say the same. */
export interface AnswerForm {
  text: string;
  /** Tokens of the answer, from its start. */
  kept: number;
  /** What the text has behind them: the part of a token that the stop text begins in. */
  rest: string;
  /** Whether the model ended its turn with them. */
  ended: boolean;
}

/** An answer that ends at the first of its stop texts. */
export interface CutAnswer {
  answer: Generation;
  /** Without the stop text, as the client gets it. */
  text: string;
  /** As agents hand it back: with the stop text, where they write it again, and as they got it. */
  forms: AnswerForm[];
}

/**
 * The answer up to the first of the stop texts. The tokens that make up the stop text stay: they were sampled, and where the client's
 * history has that text, the next turn follows them. What was sampled after it is dropped.
 */
export function cutAtStop(
  generation: Generation,
  stops: readonly string[],
  tokenizer: Pick<Tokenizer, "decode" | "eosTokenId">,
  skipSpecialTokens: boolean,
): CutAnswer {
  const { ids, logprobs } = generation;
  const read = (count: number): string => tokenizer.decode(ids.subarray(0, count), { skipSpecialTokens });
  const whole = read(ids.at(-1) === tokenizer.eosTokenId ? ids.length - 1 : ids.length);
  const found = stops.map((stop) => ({ stop, at: whole.indexOf(stop) })).filter(({ at }) => at >= 0);
  if (found.length === 0) {
    const ended = generation.stopReason === "stop" && ids.length > 0;
    return { answer: generation, text: whole, forms: [{ text: whole, kept: ids.length, rest: "", ended }] };
  }
  const { stop, at } = found.reduce((first, one) => (one.at < first.at ? one : first));

  const end = leastOf(ids.length, (count) => read(count).includes(stop));
  const text = whole.slice(0, at);
  let kept = leastOf(end, (count) => read(count).length > at) - 1;
  // A letter may be of several tokens, and is none until the last of them.
  while (!text.startsWith(read(kept))) kept -= 1;
  const answer = {
    ...generation,
    ids: ids.slice(0, end),
    logprobs: logprobs.slice(0, end),
    stopReason: "stop" as const,
  };
  const forms = [
    { text: read(end), kept: end, rest: "", ended: false },
    { text, kept, rest: text.slice(read(kept).length), ended: false },
  ];
  return { answer, text, forms };
}

/** The least number from 1 to `most` that fits, where all above one that fits do. */
function leastOf(most: number, fits: (count: number) => boolean): number {
  let [low, high] = [1, most];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (fits(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}
