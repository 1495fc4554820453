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
  /** As agents hand it back: with the stop text, where they write it again, to the end of its last token or not, and as they got it. */
  forms: AnswerForm[];
}

/**
 * The answer up to the stop text that was complete first, where serving engines end it; of those that end together the longest. The tokens
 * that make up the stop text stay: they were sampled, and where the client's history has that text, the next turn follows them. What was
 * sampled after it is dropped.
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
  const [first] = stops
    .map((stop) => ({ stop, at: whole.indexOf(stop) }))
    .filter(({ at }) => at >= 0)
    .sort((a, b) => a.at + a.stop.length - (b.at + b.stop.length) || a.at - b.at);
  if (first === undefined) {
    const ended = generation.stopReason === "stop" && ids.length > 0;
    return { answer: generation, text: whole, forms: [{ text: whole, kept: ids.length, rest: "", ended }] };
  }
  const [text, withStop] = [whole.slice(0, first.at), whole.slice(0, first.at + first.stop.length)];
  const end = leastOf(ids.length, (count) => read(count).includes(first.stop));
  const formOf = (said: string): AnswerForm => {
    let kept = leastOf(end + 1, (count) => read(count).length > said.length) - 1;
    // A letter may be of several tokens, and is none until the last of them.
    while (!said.startsWith(read(kept))) kept -= 1;
    return { text: said, kept, rest: said.slice(read(kept).length), ended: false };
  };
  const answer = {
    ...generation,
    ids: ids.slice(0, end),
    logprobs: logprobs.slice(0, end),
    stopReason: "stop" as const,
  };
  return { answer, text, forms: [...new Set([read(end), withStop, text])].map(formOf) };
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
