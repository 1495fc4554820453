import { parentPort, workerData } from "node:worker_threads";
import { loadTokenizer } from "../load-tokenizer.ts";
import type { ChatTemplateOptions, Tokenizer, TokenizerSource } from "../tokenizer.ts";
import { faultOf } from "./chunk-fault.ts";
import { unpackChunk } from "./chunk-text.ts";
import { maskChunk } from "./mask-chunk.ts";
import { measureChunk } from "./measure-chunk.ts";

/*
 * Entry of the threads that tokenise. Each loads the tokenizer by itself, then answers every chunk with what its work makes of it.
 */

export interface HostData {
  work: keyof typeof WORKS;
  source: TokenizerSource;
  variables: ChatTemplateOptions;
}

const { work, source, variables } = workerData as HostData;
const port = parentPort!;
const loading = loadTokenizer(source.folder, { chatTemplate: source.chatTemplate });

const WORKS = {
  measure: (text: string, tokenizer: Tokenizer) => measureChunk(tokenizer, unpackChunk(text), variables),
  mask: (text: string, tokenizer: Tokenizer) => maskChunk(tokenizer, unpackChunk(text), variables),
};

port.on("message", (text: string) => {
  void answer(text).then((result) => {
    const arrays = Object.values(result).filter((value) => ArrayBuffer.isView(value));
    port.postMessage(
      result,
      arrays.map(({ buffer }) => buffer as ArrayBuffer),
    );
  });
});

async function answer(text: string): Promise<object> {
  try {
    return WORKS[work](text, await loading);
  } catch (error) {
    return { fault: faultOf(0, error) };
  }
}
