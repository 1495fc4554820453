import type { Generation } from "../../engine/rollout-engine.ts";

/** One request and its answer, in tokens. */
export interface Exchange {
  /** Number of the answer in its session, from 0. */
  readonly index: number;
  /** The exchange that the request goes on from; undefined where a conversation begins. */
  readonly parent: Exchange | undefined;
  /** Tokens of the parent's answer that the request goes on from: not all where a client's history lacks the stop text they end with. */
  readonly kept: number;
  /** What the request brought: the prompt of a conversation, or what came after the parent's answer. */
  readonly added: Int32Array;
  readonly answer: Generation;
  /** Tokens from the conversation's start to the end of the answer. */
  readonly length: number;
  /** Tokens at the conversation's start that are its prompt in a batch; what more it began with is context in the response. */
  readonly promptLength: number;
  /** When the answer was complete, in ms since 1970. */
  readonly endedAt: number;
}

/** An exchange as a conversation has it: with those tokens of the answer that the next request goes on from. */
export interface Step {
  exchange: Exchange;
  ids: Int32Array;
  logprobs: Float32Array;
}

/** All tokens up to the answer's end, or to so many of the answer, as the model saw and wrote them. */
export function tokensOf(exchange: Exchange, kept: number = exchange.answer.ids.length): Int32Array {
  const ids = new Int32Array(exchange.length - exchange.answer.ids.length + kept);
  let end = ids.length;
  for (const step of backwards(exchange, kept)) {
    ids.set(step.ids, (end -= step.ids.length));
    ids.set(step.exchange.added, (end -= step.exchange.added.length));
  }
  return ids;
}

/** The exchanges of a conversation, from its start. */
export const pathTo = (end: Exchange): Step[] => [...backwards(end, end.answer.ids.length)].reverse();

function* backwards(end: Exchange, tokens: number): Generator<Step> {
  let kept = tokens;
  for (let at: Exchange | undefined = end; at !== undefined; kept = at.kept, at = at.parent) {
    const { ids, logprobs } = at.answer;
    yield { exchange: at, ids: ids.subarray(0, kept), logprobs: logprobs.subarray(0, kept) };
  }
}
