import type { ChatMessage } from "../tokenizer.ts";

/** Roles of the ShareGPT form. */
const ROLES: ReadonlyMap<unknown, string> = new Map([
  ["human", "user"],
  ["user", "user"],
  ["gpt", "assistant"],
  ["assistant", "assistant"],
  ["system", "system"],
  ["tool", "tool"],
  ["observation", "tool"],
]);

/**
 * A conversation as chat messages: `{ role, content }` as it is, `{ from, value }` (ShareGPT) translated.
 * @throws Error without the row, when it is neither.
 */
export function chatMessages(value: unknown): ChatMessage[] {
  if (!Array.isArray(value)) throw new Error("is no list of messages");
  return value.map((message: unknown, index) => {
    if (typeof message !== "object" || message === null) throw new Error(`has no message at ${index}`);
    const fields = message as Record<string, unknown>;
    if (typeof fields.role === "string") return fields as ChatMessage;
    const role = ROLES.get(fields.from);
    if (role === undefined || typeof fields.value !== "string")
      throw new Error(`has a message at ${index} with neither role and content nor from and value`);
    const { from: _from, value: content, ...others } = fields;
    return { role, content, ...others };
  });
}
