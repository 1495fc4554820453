import type { ChatMessage } from "../../data/tokenizer.ts";
import type { ParsedAnswer } from "../tool-parser.ts";
import type { CallIds } from "./call-ids.ts";
import { textOf, type WrittenPart } from "./written-parts.ts";

/**
 * The message as the client gets it and hands it back; what was meant as a call and is none stays text, so that nothing is lost.
 * @param own ids for calls that have none; one that the model copied of these is not kept, as it would name two calls
 */
export function assistantMessage(
  { calls }: ParsedAnswer,
  parts: readonly WrittenPart[],
  mostCalls: number,
  own: CallIds,
): ChatMessage {
  const text = textOf(parts, "content");
  if (calls.length === 0) return { role: "assistant", content: text };
  const ids = new Set<string>();
  const tool_calls = calls.slice(0, mostCalls).map(({ id, name, arguments: args }) => ({
    id: unused(id === undefined || own.has(id) ? own.next() : id, ids),
    type: "function",
    // As it comes back: through JSON.
    function: { name, arguments: args },
  }));
  return { role: "assistant", content: text, tool_calls };
}

/** The id, with a number behind it where another call of the answer has it already. */
function unused(id: string, ids: Set<string>): string {
  let own = id;
  for (let number = 2; ids.has(own); number++) own = `${id}-${number}`;
  ids.add(own);
  return own;
}
