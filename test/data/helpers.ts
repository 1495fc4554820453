import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ChatMessage, ChatTemplateOptions, Tokenizer } from "../../core/data/tokenizer.ts";
import type { Logger } from "../../core/registry/logger.ts";

/** A fresh folder with the given files. */
export function folderWith(files: Readonly<Record<string, string | Uint8Array>>): string {
  const folder = mkdtempSync(join(tmpdir(), "verl-data-"));
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content);
  return folder;
}

export const SORT_MODEL = "examples/sort-letters/model";

/** Keeps what was logged. */
export function recordingLogger(): Logger & { lines: string[] } {
  const lines: string[] = [];
  const write = (message: string): void => void lines.push(message);
  return { lines, debug: write, info: write, warn: write, warnOnce: (_code, message) => write(message) };
}

/** One token a word; the template puts every tool's words before the messages. */
export class WordTokenizer implements Tokenizer {
  readonly vocabSize = 10_000;
  readonly padTokenId = 0;
  readonly eosTokenId = 1;
  readonly chatTemplate = "words";
  private readonly words = ["<pad>", "<end>"];

  encode(text: string): Int32Array {
    const words = text.split(/\s+/).filter((word) => word !== "");
    return Int32Array.from(words, (word) => {
      if (!this.words.includes(word)) this.words.push(word);
      return this.words.indexOf(word);
    });
  }

  decode(ids: ArrayLike<number>): string {
    return Array.from(ids, (id) => this.words[id]).join(" ");
  }

  renderChat(messages: readonly ChatMessage[], { tools = [] }: ChatTemplateOptions = {}): string {
    return [...tools.map((tool) => tool.text as string), ...messages.map((message) => message.content as string)].join(
      " ",
    );
  }

  encodeChat(messages: readonly ChatMessage[], options?: ChatTemplateOptions): Int32Array {
    return this.encode(this.renderChat(messages, options));
  }
}

/** The VerlError that `act` ends with. */
export async function errorOf(
  act: () => unknown,
): Promise<{ code: string; message: string; hint?: string; location?: object; details?: Record<string, unknown> }> {
  try {
    await act();
  } catch (error) {
    return error as { code: string; message: string };
  }
  throw new Error("Nothing was thrown.");
}
