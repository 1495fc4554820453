import { VerlError } from "../errors/verl-error.ts";
import type { RowOrigin } from "./columns.ts";
import type { ChatMessage, ChatTemplateOptions, Tokenizer } from "./tokenizer.ts";

/** One conversation to imitate. */
export interface SftExample {
  ids: Int32Array;
  /** 1 on the tokens that an assistant message wrote, its end token included; same length as `ids`. */
  lossMask: Uint8Array;
}

/**
 * Tokenises a conversation and marks what the assistant wrote, by template difference: a message's tokens are those that the
 * template adds when the message comes after its predecessors. What precedes an assistant's answer is rendered with the generation
 * prompt, exactly as at sampling time; what follows the answer's end token (a newline, say) is the template's and not trained.
 * @throws VerlError VERL_DATA_TEMPLATE_DRIFT when the template changes earlier tokens as the conversation grows.
 */
export function maskConversation(
  tokenizer: Tokenizer,
  messages: readonly ChatMessage[],
  options: ChatTemplateOptions,
  origin: RowOrigin,
): SftExample {
  const ids = tokenizer.encodeChat(messages, options);
  const lossMask = new Uint8Array(ids.length);
  messages.forEach((message, index) => {
    if (message.role !== "assistant") return;
    const before = tokenizer.encodeChat(messages.slice(0, index), { ...options, addGenerationPrompt: true });
    const isLast = index === messages.length - 1;
    const after = isLast ? ids : tokenizer.encodeChat(messages.slice(0, index + 1), options);
    requirePrefix(before, after, tokenizer, index, origin);
    requirePrefix(after, ids, tokenizer, index, origin);
    const end = after.lastIndexOf(tokenizer.eosTokenId);
    lossMask.fill(1, before.length, end >= before.length ? end + 1 : after.length);
  });
  return { ids, lossMask };
}

function requirePrefix(
  prefix: Int32Array,
  whole: Int32Array,
  tokenizer: Tokenizer,
  message: number,
  origin: RowOrigin,
): void {
  const at = prefix.findIndex((id, index) => id !== whole[index]);
  if (at < 0) return;
  const show = (ids: Int32Array): string =>
    at < ids.length ? JSON.stringify(tokenizer.decode(ids.subarray(at, at + 1))) : "nothing";
  throw new VerlError(
    "VERL_DATA_TEMPLATE_DRIFT",
    `Row ${origin.row}: the chat template rewrites history around message ${message}: token ${at} is ${show(prefix)} at first and ${show(whole)} later.`,
    {
      location: { file: origin.file },
      hint: "Use a template that only appends (some drop earlier reasoning), or split the row so that its answer comes last.",
      details: { row: origin.row, message, token: at },
    },
  );
}
