import { createHash } from "node:crypto";
import type { ChatMessage } from "../../data/tokenizer.ts";
import { stringifyLosslessJson } from "../../data/lossless-json.ts";
import type { TemplateCall } from "../call-form.ts";
import type { CallIds } from "./call-ids.ts";

/**
 * Names of the conversations that a list of messages goes through: two conversations have the same name where they consist of the same
 * messages, whatever a client library did to their form. The n-th name is that of the first n messages.
 * @param frame what else belongs to a conversation: the tools on offer
 * @param ids of the session that the messages are sent to
 */
export function conversationKeys(frame: unknown, messages: readonly ChatMessage[], ids: CallIds): string[] {
  const keys = [hash("", sorted(frame))];
  for (const message of messages) keys.push(nextKey(keys.at(-1)!, message, ids));
  return keys;
}

/** Name of a conversation with one more message. */
export const nextKey = (key: string, message: ChatMessage, ids: CallIds): string => hash(key, essence(message, ids));

/** Name of a plain completion's prompt. */
export const textKey = (prompt: string | Int32Array): string =>
  hash("", typeof prompt === "string" ? prompt : [...prompt]);

/**
 * What clients hand back as they got it. Reasoning is none of that, nor is white space around an answer, nor its name, which LangGraph gives
 * to the answers of a named agent. Nor are arguments: a client may have read them by a schema that adds defaults, trims or drops. An id of
 * the session tells a call without them; a model's own ids begin anew with each answer (`functions.search:0`), so those calls are told by
 * their arguments, too.
 */
function essence({ role, content, name, tool_call_id, tool_calls }: ChatMessage, ids: CallIds): unknown {
  const answers = role === "assistant";
  const text = answers && typeof content === "string" ? content.trim() : content;
  const calls = (tool_calls as readonly TemplateCall[] | undefined)?.map((call) =>
    ids.has(call.id) ? { id: call.id, name: call.function.name } : call,
  );
  return sorted({ role, text, name: answers ? undefined : name, tool_call_id, calls });
}

const hash = (key: string, value: unknown): string =>
  createHash("sha256")
    .update(`${key}\n${stringifyLosslessJson(value)}`)
    .digest("base64");

/** The value with the keys of objects in order. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, field]) => [key, sorted(field)]));
}
