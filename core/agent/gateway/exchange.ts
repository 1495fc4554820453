import type { Generation } from "../../engine/rollout-engine.ts";

/** One request and its answer, in tokens. */
export interface Exchange {
  /** Number of the answer in its session, from 0. */
  readonly index: number;
  /** The exchange that the request goes on from; undefined where a conversation begins. */
  readonly parent: Exchange | undefined;
  /** What the request brought: the prompt of a conversation, or what came after the parent's answer. */
  readonly added: Int32Array;
  readonly answer: Generation;
  /** Tokens from the conversation's start to the end of the answer. */
  readonly length: number;
  /** Tokens of the prompt that the conversation began with. */
  readonly promptLength: number;
  /** When the answer was complete, in ms since 1970. */
  readonly endedAt: number;
}

/** All tokens up to the answer's end, as the model saw and wrote them. */
export function tokensOf(exchange: Exchange): Int32Array {
  const ids = new Int32Array(exchange.length);
  let end = exchange.length;
  for (let at: Exchange | undefined = exchange; at !== undefined; at = at.parent) {
    ids.set(at.answer.ids, (end -= at.answer.ids.length));
    ids.set(at.added, (end -= at.added.length));
  }
  return ids;
}

/** The exchanges of a conversation, from its start. */
export function pathTo(exchange: Exchange): Exchange[] {
  const path: Exchange[] = [];
  for (let at: Exchange | undefined = exchange; at !== undefined; at = at.parent) path.push(at);
  return path.reverse();
}
