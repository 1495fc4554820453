import type { ChatMessage } from "../data/tokenizer.ts";

/** A call, as templates see it. */
interface Call {
  id: string;
  type: string;
  function: { name: string; arguments: object };
}

/** Stands for a call that could not be read. */
const UNREAD: Call = { id: "call00000", type: "function", function: { name: "invalid_call", arguments: {} } };
/** Ids that every template takes. */
const ID_LENGTH = 9;

const callsOf = ({ tool_calls }: ChatMessage): readonly Call[] => (tool_calls ?? []) as readonly Call[];

/**
 * Messages behind an answer, each for itself behind an answer that has its call and no other: some templates take one call an answer
 * (Llama 3), none but ids of nine letters and digits (Mistral), or no tool's message without a call (harmony).
 */
export function eachBehindItsCall(
  answer: ChatMessage,
  messages: readonly ChatMessage[],
): { answer: ChatMessage; message: ChatMessage }[] {
  const { tool_calls: _, ...bare } = answer;
  return messages.map((message) => {
    if (message.role !== "tool") return { answer: bare, message };
    const call = callsOf(answer).find(({ id }) => id === message.tool_call_id) ?? UNREAD;
    const id = acceptedId(call.id);
    return {
      answer: { ...bare, tool_calls: [{ ...call, id }] },
      message: { ...message, tool_call_id: id, name: call.function.name },
    };
  });
}

const acceptedId = (id: string): string =>
  id
    .replace(/[^A-Za-z0-9]/g, "")
    .padStart(ID_LENGTH, "0")
    .slice(-ID_LENGTH);

/** Whether a template names the first call's tool above the results of others too, as harmony's does. @param text what it made of the messages. */
export function mislabels(text: string, answer: ChatMessage, messages: readonly ChatMessage[]): boolean {
  const called = new Set(
    messages
      .flatMap(({ tool_call_id }) => callsOf(answer).filter(({ id }) => id === tool_call_id))
      .map(({ function: { name } }) => name),
  );
  if (called.size < 2) return false;
  const labels = messages.reduce(
    (left, { content }) => (typeof content === "string" ? left.replace(content, () => "") : left),
    text,
  );
  const [first, ...others] = called;
  return labels.includes(first!) && others.some((name) => !labels.replaceAll(first!, "").includes(name));
}
