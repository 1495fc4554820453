import { ChatTemplate } from "../../../core/data/chat-template.ts";
import { VerlError } from "../../../core/errors/index.ts";
import type { ChatMessage, ChatTemplateOptions, Tokenizer } from "../../../core/data/tokenizer.ts";

/** Texts that are a token each; the second special one ends answers. */
export interface Marks {
  special: readonly string[];
  plain: readonly string[];
}

const MARKS: Marks = {
  special: ["<pad>", "<|end|>", "<|user|>", "<|assistant|>", "<|tool|>"],
  plain: ["<tool_call>", "</tool_call>"],
};
const FIRST_CHARACTER = 100;

/** A newline after each end tag, as Qwen's template has it; calls are written again from their arguments. */
export const APPENDING = `{% for message in messages %}<|{{ message.role }}|>{{ message.content }}{% for call in message.tool_calls or [] %}<tool_call>{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}</tool_call>{% endfor %}<|end|>
{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}`;

/** Drops the reasoning of answers before the last user's message. */
export const FORGETTING = `{% set ns = namespace(last=0) %}{% for message in messages %}{% if message.role == 'user' %}{% set ns.last = loop.index0 %}{% endif %}{% endfor %}{% for message in messages %}<|{{ message.role }}|>{% if message.role == 'assistant' and loop.index0 < ns.last %}{{ message.content.split('</think>')[-1] }}{% else %}{{ message.content }}{% endif %}<|end|>
{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}`;

/** A token a character, one a mark; the template is Jinja. */
export class ChatTokenizer implements Tokenizer {
  readonly vocabSize = 70_000;
  readonly padTokenId = 0;
  readonly eosTokenId = 1;
  private readonly template: ChatTemplate;

  private readonly marks: readonly string[];
  private readonly specials: number;

  /** @param without characters that it has no token for. */
  constructor(
    readonly chatTemplate: string = APPENDING,
    { special, plain }: Marks = MARKS,
    private readonly without = "",
  ) {
    this.template = new ChatTemplate(chatTemplate, { bos_token: "<s>", eos_token: special[1] }, "test");
    this.marks = [...special, ...plain];
    this.specials = special.length;
  }

  encode(text: string): Int32Array {
    const ids: number[] = [];
    for (let at = 0; at < text.length;) {
      const mark = this.marks.findIndex((candidate) => text.startsWith(candidate, at));
      if (mark < 0 && this.without.includes(text[at]!))
        throw new VerlError("VERL_DATA_UNENCODABLE", `The tokenizer has no token for "${text[at]}".`);
      ids.push(mark < 0 ? FIRST_CHARACTER + text.charCodeAt(at) : mark);
      at += mark < 0 ? 1 : this.marks[mark]!.length;
    }
    return Int32Array.from(ids);
  }

  decode(ids: ArrayLike<number>, { skipSpecialTokens = false }: { skipSpecialTokens?: boolean } = {}): string {
    return Array.from(ids, (id) => {
      if (id >= FIRST_CHARACTER) return String.fromCharCode(id - FIRST_CHARACTER);
      return skipSpecialTokens && id < this.specials ? "" : this.marks[id]!;
    }).join("");
  }

  renderChat(messages: readonly ChatMessage[], options?: ChatTemplateOptions): string {
    return this.template.render(messages, options);
  }

  encodeChat(messages: readonly ChatMessage[], options?: ChatTemplateOptions): Int32Array {
    return this.encode(this.renderChat(messages, options));
  }
}
