import type { ChatMessage, ChatTemplateOptions, Tokenizer } from "../data/index.ts";

const [PAD, END] = [0, 1];
/** Ids below stand for no letter. */
const FIRST = 2;
const LETTERS = 0x110000;

const text = (content: ChatMessage["content"]): string =>
  typeof content === "string" ? content : JSON.stringify(content ?? "");

/**
 * A tokenizer of one id a letter, for entries that are tested without a model. Its template writes `role:` before and an end after each
 * message. Each letter has a second id, which `encode` never gives: models sample pieces that no encoder would choose, so what was
 * sampled cannot be had again from its text.
 */
export const letterTokenizer: Tokenizer = {
  vocabSize: FIRST + 2 * LETTERS,
  padTokenId: PAD,
  eosTokenId: END,
  chatTemplate: "{% for message in messages %}{{ message.role }}:{{ message.content }}\u0000{% endfor %}",
  encode: (given) => Int32Array.from([...given], (letter) => (letter === "\0" ? END : letter.codePointAt(0)! + FIRST)),
  decode: (ids, { skipSpecialTokens = false } = {}) =>
    Array.from(ids, (id) =>
      id >= FIRST ? String.fromCodePoint((id - FIRST) % LETTERS) : skipSpecialTokens ? "" : "\0",
    ).join(""),
  renderChat: (messages, { addGenerationPrompt }: ChatTemplateOptions = {}) =>
    messages.map(({ role, content }) => `${role}:${text(content)}\0`).join("") +
    (addGenerationPrompt ? "assistant:" : ""),
  encodeChat: (messages, options) => letterTokenizer.encode(letterTokenizer.renderChat(messages, options)),
};

/** The other id of a letter; ids that stand for none have no other. */
export const otherId = (id: number): number => (id < FIRST ? id : id < FIRST + LETTERS ? id + LETTERS : id - LETTERS);
