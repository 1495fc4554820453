import type { ChatMessage, Tokenizer } from "../../data/tokenizer.ts";
import type { TurnTokens } from "../turn-tokens.ts";
import type { CallIds } from "./call-ids.ts";
import type { ChatRequest, CompletionRequest } from "./chat-request.ts";
import { nextKey } from "./conversation-keys.ts";
import { tokensOf, type Exchange } from "./exchange.ts";
import { PrefixIndex } from "./prefix-index.ts";
import type { AnswerForm } from "./stop-texts.ts";

/** Where a request goes on from, and what it brings. */
export interface Prompt {
  parent: Exchange | undefined;
  /** Tokens of the parent's answer that it goes on from. */
  kept: number;
  added: Int32Array;
  /** What it brings has answers that this session did not give so: the client rewrote them. */
  rewritten?: boolean;
}

/** A place that a request can go on from: an answer in one of its forms. */
interface Place extends AnswerForm {
  exchange: Exchange;
}

/** An answer to a plain completion; its text is that of prompt and answer. */
interface TextPlace extends Place {
  /** A prompt that adds nothing asks for more of it: it is not the prompt alone, asked for once more, and the model did not end it. */
  hasMore: boolean;
}

/** An answer's tokens, or so many of them. */
type TokenPlace = Pick<Place, "exchange" | "kept">;

/** Finds the answer that a request goes on from, by what the client's history says; any other request begins a conversation. */
export class Conversations {
  /** The latest answer that ended a chat of that name. */
  private readonly chats = new Map<string, Place>();
  private readonly texts = new PrefixIndex<TextPlace>();
  /** The tokens of every answer. */
  private readonly tokens = new PrefixIndex<TokenPlace>();

  constructor(
    private readonly tokenizer: Tokenizer,
    private readonly callIds: CallIds,
  ) {}

  /** @param key name of the messages that the answer was given to; `text` is what the client got of it */
  rememberChat(
    key: string,
    message: ChatMessage,
    text: string,
    exchange: Exchange,
    forms: readonly AnswerForm[],
  ): void {
    for (const form of forms) {
      this.rememberTokens(exchange, form);
      const more = form.text.slice(text.length);
      if (more !== "" && message["tool_calls"] !== undefined) continue;
      const content = more === "" ? message.content : `${message.content as string}${more}`;
      this.chats.set(nextKey(key, { ...message, content }, this.callIds), { exchange, ...form });
    }
  }

  rememberText(prompt: string, exchange: Exchange, forms: readonly AnswerForm[]): void {
    for (const form of forms) {
      this.rememberTokens(exchange, form);
      const text = prompt + form.text;
      const hasMore = form.text !== "" && !form.ended;
      this.texts.add(Buffer.from(text), { exchange, ...form, text, hasMore });
    }
  }

  private rememberTokens(exchange: Exchange, { kept }: AnswerForm): void {
    this.tokens.add(tokensOf(exchange, kept), { exchange, kept });
  }

  forget(gone: ReadonlySet<Exchange>): void {
    for (const [key, { exchange }] of this.chats) if (gone.has(exchange)) this.chats.delete(key);
    this.texts.forget(({ exchange }) => gone.has(exchange));
    this.tokens.forget(({ exchange }) => gone.has(exchange));
  }

  /** @param keys names of the conversations that the messages go through */
  chat({ messages }: ChatRequest, keys: readonly string[], tokens: TurnTokens): Prompt {
    for (let count = messages.length; count > 0; count--) {
      const answer = messages[count - 1]!;
      const place = answer.role === "assistant" ? this.chats.get(keys[count]!) : undefined;
      if (place === undefined) continue;
      const { exchange: parent, kept, rest, ended } = place;
      const behind = messages.slice(count);
      const after = tokens.after(answer, ended ? parent.answer.ids[kept - 1] : undefined, behind);
      const rewritten = behind.some(({ role }) => role === "assistant");
      return { parent, kept, added: rest === "" ? after : joined(tokens.encode(rest), after), rewritten };
    }
    return { parent: undefined, kept: 0, added: tokens.encode(tokens.render(messages)) };
  }

  text(prompt: CompletionRequest["prompt"]): Prompt {
    if (typeof prompt !== "string") return this.ids(prompt);
    const fits = ({ text, hasMore }: TextPlace): boolean =>
      (hasMore || text.length < prompt.length) && prompt.startsWith(text);
    const place = this.texts.longest(Buffer.from(prompt), fits);
    const { exchange: parent, kept, text, rest } = place ?? { exchange: undefined, kept: 0, text: "", rest: "" };
    const more = rest + prompt.slice(text.length);
    return { parent, kept, added: this.tokenizer.encode(more, { addSpecialTokens: parent === undefined }) };
  }

  private ids(prompt: Int32Array): Prompt {
    const lengthOf = ({ exchange, kept }: TokenPlace): number => exchange.length - exchange.answer.ids.length + kept;
    const fits = (place: TokenPlace): boolean =>
      lengthOf(place) < prompt.length &&
      tokensOf(place.exchange, place.kept).every((id, index) => id === prompt[index]);
    const place = this.tokens.longest(prompt, fits);
    if (place === undefined) return { parent: undefined, kept: 0, added: prompt };
    return { parent: place.exchange, kept: place.kept, added: prompt.slice(lengthOf(place)) };
  }
}

/** One after the other. */
export function joined(a: Int32Array, b: Int32Array): Int32Array {
  const ids = new Int32Array(a.length + b.length);
  ids.set(a);
  ids.set(b, a.length);
  return ids;
}
