import type { ChatMessage, ChatTemplateOptions, Tokenizer } from "../../core/data/tokenizer.ts";

const END = "<|end|>";
const FIRST_LETTER = 100;

/** Every letter is a token, and so are some words; a chat's turns have marks, answers an end token, and the tools on offer come first. */
export class LettersTokenizer implements Tokenizer {
  readonly vocabSize = 0x110000 + FIRST_LETTER;
  readonly padTokenId = 0;
  readonly eosTokenId = 1;
  readonly chatTemplate = undefined;

  /** @param words that are one token each; an earlier one is taken first */
  constructor(private readonly words: readonly string[] = []) {}

  encode(text: string): Int32Array {
    const ids: number[] = [];
    for (let at = 0; at < text.length;) {
      const word = [END, ...this.words].findIndex((one) => text.startsWith(one, at));
      const letter = text.codePointAt(at)!;
      ids.push(word < 0 ? letter + FIRST_LETTER : word + 1);
      at += word < 0 ? String.fromCodePoint(letter).length : [END, ...this.words][word]!.length;
    }
    return Int32Array.from(ids);
  }

  decode(ids: ArrayLike<number>, { skipSpecialTokens = false }: { skipSpecialTokens?: boolean } = {}): string {
    const texts = [skipSpecialTokens ? "" : END, ...this.words];
    return Array.from(ids, (id) => texts[id - 1] ?? String.fromCodePoint(id - FIRST_LETTER)).join("");
  }

  renderChat(messages: readonly ChatMessage[], { tools, addGenerationPrompt }: ChatTemplateOptions = {}): string {
    const offered = tools?.length ? `[${tools.map((tool) => (tool["function"] as { name: string }).name).join()}]` : "";
    const turns = messages.map(({ role, content }) => `<${role}>${content as string}${END}\n`);
    return offered + turns.join("") + (addGenerationPrompt ? "<assistant>" : "");
  }

  encodeChat(messages: readonly ChatMessage[], options?: ChatTemplateOptions): Int32Array {
    return this.encode(this.renderChat(messages, options));
  }
}
