import { parentPort, workerData } from "node:worker_threads";
import { isVerlError } from "../../errors/verl-error.ts";
import { loadTokenizer } from "../load-tokenizer.ts";
import type { ChatTemplateOptions, TokenizerSource } from "../tokenizer.ts";
import { measureChunk, unpackChunk, type ChunkResult } from "./measure-chunk.ts";

/*
 * Entry of the threads that measure prompts. Each loads the tokenizer by itself, then answers every chunk with its lengths.
 */

export interface HostData {
  source: TokenizerSource;
  variables: ChatTemplateOptions;
}

const { source, variables } = workerData as HostData;
const port = parentPort!;
const tokenizer = loadTokenizer(source.folder, source);

port.on("message", (text: string) => {
  void measure(text).then((result) => {
    const moved = "lengths" in result ? [result.lengths.buffer as ArrayBuffer] : [];
    port.postMessage(result, moved);
  });
});

async function measure(text: string): Promise<ChunkResult> {
  try {
    return measureChunk(await tokenizer, unpackChunk(text), variables);
  } catch (error) {
    const code = isVerlError(error) ? error.code : undefined;
    return { fault: { at: 0, code, message: error instanceof Error ? error.message : String(error) } };
  }
}
