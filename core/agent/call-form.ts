import type { ChatMessage } from "../data/tokenizer.ts";
import { stringifyLosslessJson } from "../data/lossless-json.ts";

/** A call, as templates see it. */
export interface TemplateCall {
  id: string;
  type: string;
  function: { name: string; arguments: unknown };
}

const PROBE = "probe";
const ASKED: ChatMessage = { role: "user", content: "." };
const CALLED: ChatMessage = {
  role: "assistant",
  content: "",
  tool_calls: [{ id: "call00000", type: "function", function: { name: "f", arguments: { x: PROBE } } }],
};

/**
 * The form in which a template takes the calls of an answer. Most take arguments as an object, and would encode a text once more; others
 * (DeepSeek's) put them into the prompt as they are, which must then be JSON, and show no calls of an answer that has a content.
 */
export class CallForm {
  private asText: boolean | undefined;

  constructor(private readonly render: (messages: readonly ChatMessage[]) => string) {}

  /** The messages as the template takes them. @param messages with arguments as objects */
  of(messages: readonly ChatMessage[]): readonly ChatMessage[] {
    if (!messages.some(({ tool_calls }) => tool_calls !== undefined)) return messages;
    this.asText ??= !this.shows(CALLED) && this.shows(withText(CALLED));
    return this.asText ? messages.map(withText) : messages;
  }

  /** Whether the template shows the arguments of a call. */
  private shows(answer: ChatMessage): boolean {
    try {
      return this.render([ASKED, answer]).includes(PROBE);
    } catch {
      return false; // It takes no such message.
    }
  }
}

function withText(message: ChatMessage): ChatMessage {
  const calls = message.tool_calls as readonly TemplateCall[] | undefined;
  if (calls === undefined) return message;
  const tool_calls = calls.map(({ function: { name, arguments: args }, ...call }) => ({
    ...call,
    function: { name, arguments: typeof args === "string" ? args : stringifyLosslessJson(args) },
  }));
  return { ...message, content: message.content === "" ? null : message.content, tool_calls };
}
