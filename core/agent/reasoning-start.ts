import type { Tokenizer } from "../data/index.ts";

const OPEN = ["<think>", "[THINK]"];
const CLOSE = ["</think>", "[/THINK]"];
/** Tokens at a prompt's end that an opening tag of the template stands in. */
const TAIL = 8;
/** Tokens in which an opening tag farther up leaves it in doubt whether its reasoning goes on. */
const FAR = 256;

/** Whether a prompt ends inside a reasoning tag; undefined when a tag farther up, never closed, leaves that in doubt. */
export function startsInReasoning(tokenizer: Tokenizer, prompt: Int32Array): boolean | undefined {
  if (endsOpen(tokenizer.decode(prompt.subarray(-TAIL)))) return true;
  return endsOpen(tokenizer.decode(prompt.subarray(-FAR))) ? undefined : false;
}

function endsOpen(text: string): boolean {
  const last = (tags: readonly string[]): number => Math.max(...tags.map((tag) => text.lastIndexOf(tag)));
  return last(OPEN) > last(CLOSE);
}
