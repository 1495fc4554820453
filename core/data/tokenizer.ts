/** One message of a chat, as chat templates read it. */
export interface ChatMessage {
  role: string;
  content: string | readonly Record<string, unknown>[] | null;
  [field: string]: unknown;
}

export interface ChatTemplateOptions {
  addGenerationPrompt?: boolean;
  tools?: readonly Record<string, unknown>[];
  /** `data.apply_chat_template_kwargs`: further template variables. */
  [variable: string]: unknown;
}

/** What a tokenizer is loaded with besides its folder. */
export interface LoadTokenizerOptions {
  /** Replaces the folder's chat template. */
  chatTemplate?: string | null;
  /** What names the folder, for hints: a config key or an argument of a command. Default: hints name none. */
  folderKey?: string;
  /** Config key of `chatTemplate`, for hints. Default: hints name none. */
  templateKey?: string;
}

/** From where another thread loads the same tokenizer. */
export interface TokenizerSource extends LoadTokenizerOptions {
  folder: string;
}

/** A tokenizer with its chat template, loaded from a model folder (`tokenizer.json`, `tokenizer_config.json`). */
export interface Tokenizer {
  readonly vocabSize: number;
  readonly padTokenId: number;
  readonly eosTokenId: number;
  /** The chat template's source, if the folder has one. */
  readonly chatTemplate: string | undefined;
  /** The source of that for messages with tools, where it is another. */
  readonly toolTemplate?: string | undefined;
  /** Absent where it exists in this process alone. */
  readonly source?: TokenizerSource;
  encode(text: string, options?: { addSpecialTokens?: boolean }): Int32Array;
  decode(ids: ArrayLike<number>, options?: { skipSpecialTokens?: boolean }): string;
  renderChat(messages: readonly ChatMessage[], options?: ChatTemplateOptions): string;
  encodeChat(messages: readonly ChatMessage[], options?: ChatTemplateOptions): Int32Array;
}
