import { once } from "node:events";
import OpenAI from "openai";
import {
  Gateway,
  type GatewayAccess,
  type GatewayOptions,
  type SessionOptions,
} from "../../core/agent/gateway/index.ts";
import { loadTokenizer } from "../../core/data/load-tokenizer.ts";
import type { Tokenizer } from "../../core/data/tokenizer.ts";
import type { Generation, RolloutEngine, SamplingParams } from "../../core/engine/rollout-engine.ts";
import { HermesToolParser } from "../../plugins/tool-parser/hermes.ts";

/** The example's vocabulary, with a template of the usual kind: each turn has a mark, each answer and question an end. */
const TEMPLATE = [
  "{% for message in messages %}",
  "{% if message.role == 'user' %}{{ '<|user|>' + message.content + '<|end|>' }}",
  "{% elif message.role == 'tool' %}{{ '<tool_response>' + message.content + '</tool_response>' }}",
  "{% else %}{{ '<|assistant|>' + message.content }}{% for call in message.tool_calls or [] %}",
  `{{ '<tool_call>{"name":"' + call.function.name + '","arguments":{"e":"' }}{{ call.function.arguments.e }}{{ '"}}</tool_call>' }}`,
  "{% endfor %}{{ '<|end|>' }}{% endif %}",
  "{% endfor %}{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}",
].join("");

export const tokenizer = await loadTokenizer("examples/tool-calculator/model", { chatTemplate: TEMPLATE });

export const CALC = {
  type: "function" as const,
  function: {
    name: "calc",
    description: "Evaluates an expression.",
    parameters: { type: "object", properties: { e: { type: "string" } }, required: ["e"] },
  },
};

export const callOf = (expression: string): string =>
  `<tool_call>{"name":"calc","arguments":{"e":"${expression}"}}</tool_call>`;

type Answer = string | Generation;

/** A rollout engine whose answers a test writes: text of the whole prompt in, text of the answer out, or its tokens as they are. */
export class ScriptedRollout implements RolloutEngine {
  weightVersion = 7;
  readonly requests: { promptIds: Int32Array; sampling: SamplingParams; prompt: string }[] = [];
  aborted = 0;

  constructor(
    private readonly script: (prompt: string, request: number) => Answer | Promise<Answer>,
    private readonly tokens: Pick<Tokenizer, "encode" | "decode"> = tokenizer,
  ) {}

  async generate(
    promptIds: Int32Array,
    sampling: SamplingParams,
    { signal }: { signal?: AbortSignal } = {},
  ): Promise<Generation> {
    const prompt = this.tokens.decode(promptIds);
    const number = this.requests.push({ promptIds, sampling, prompt }) - 1;
    const ended = signal && !signal.aborted ? once(signal, "abort").then(() => undefined) : undefined;
    const text = await Promise.race([this.script(prompt, number), ...(ended ? [ended] : [])]);
    if (text === undefined) this.aborted += 1;
    if (typeof text === "object") return text;
    const all =
      text === undefined ? new Int32Array() : this.tokens.encode(`${text}<|end|>`, { addSpecialTokens: false });
    const ids = all.slice(0, sampling.max_tokens);
    return {
      ids,
      logprobs: Float32Array.from(ids, (_, at) => -(number + 1) - at / 100),
      stopReason: text === undefined ? "abort" : ids.length < all.length ? "length" : "stop",
      weightVersion: this.weightVersion,
    };
  }

  async updateWeights(): Promise<void> {}
  async sleep(): Promise<void> {}
  async wake(): Promise<void> {}
  async abort(): Promise<void> {}
  dispose(): void {}
}

/** An answer of an engine, token by token. */
export const generation = (ids: number[], logprobs: number[], rest: Partial<Generation> = {}): Generation => ({
  ids: Int32Array.from(ids),
  logprobs: Float32Array.from(logprobs),
  stopReason: "stop",
  weightVersion: 7,
  ...rest,
});

/** Calls the calculator once, then answers by what it was told. */
export const calculating = (prompt: string): string => {
  const told = /<tool_response>(.*)<\/tool_response>/.exec(prompt);
  return told ? `=${told[1]}` : callOf(/<\|user\|>(.*?)<\|end\|>/.exec(prompt)?.[1] ?? "");
};

const SAMPLING: SamplingParams = { temperature: 1, top_k: -1, top_p: 1, max_tokens: 200, stop_token_ids: [], seed: 5 };

/** A gateway with one session, for the time of `use`. */
export async function withSession<T>(
  rollout: RolloutEngine,
  use: (access: GatewayAccess & { client: OpenAI; gateway: Gateway }) => Promise<T>,
  options: Partial<SessionOptions> = {},
  gatewayOptions: Partial<GatewayOptions> = {},
): Promise<T> {
  const gateway = new Gateway({ tokenizer, parser: () => new HermesToolParser(), ...gatewayOptions });
  const access = await gateway.open({ rollout, sampling: SAMPLING, choosesSampling: false, ...options });
  const client = new OpenAI({ baseURL: access.baseURL, apiKey: access.apiKey, maxRetries: 0 });
  try {
    return await use({ ...access, client, gateway });
  } finally {
    await gateway.close(access.session);
  }
}
