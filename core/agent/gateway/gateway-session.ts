import type { ChatMessage, Tokenizer } from "../../data/tokenizer.ts";
import type { Generation, RolloutEngine } from "../../engine/rollout-engine.ts";
import type { Logger } from "../../registry/logger.ts";
import { generationFault } from "../generation-fault.ts";
import { startsInReasoning } from "../reasoning-start.ts";
import type { ParsedAnswer, ToolParser } from "../tool-parser.ts";
import type { TurnTokens } from "../turn-tokens.ts";
import { ApiError, apiErrorOf } from "./api-error.ts";
import { assistantMessage } from "./assistant-message.ts";
import { conversationKeys, textKey } from "./conversation-keys.ts";
import { Conversations, joined, type Prompt } from "./conversations.ts";
import { CallIds } from "./call-ids.ts";
import type { ChatRequest, CompletionRequest } from "./chat-request.ts";
import { EngineFailures } from "./engine-failures.ts";
import { tokensOf, type Exchange } from "./exchange.ts";
import { countFields } from "./field-counts.ts";
import type { GenerationRequest } from "./generation-request.ts";
import { readAnswer } from "./read-answer.ts";
import { ReasoningReader } from "./reasoning-reader.ts";
import { noCounts, type SessionCounts } from "./session-counts.ts";
import { SessionRoom, type RoomLimits } from "./session-room.ts";
import { notServed, samplingOf, type SamplingRules } from "./session-sampling.ts";
import { cutAtStop, type AnswerForm } from "./stop-texts.ts";
import type { WrittenPart } from "./written-parts.ts";

export interface SessionOptions extends SamplingRules, RoomLimits {
  rollout: RolloutEngine;
  /** Requests in all. Default: 10,000. */
  maxRequests?: number;
  /** Requests under way at once. Default: 256. */
  maxConcurrent?: number;
  /** Names the conversation for engines that keep its cache. */
  sticky?: string;
  /** Told once of each field that is not done as asked. */
  log?: Pick<Logger, "warnOnce">;
}

/** What is needed of the model to turn messages into tokens and back. */
export interface ModelFormat {
  tokenizer: Tokenizer;
  parser: ToolParser;
  /** The chat template with these tools and variables. */
  turnTokens(request: Pick<ChatRequest, "tools" | "variables">): TurnTokens;
  /** Waits for requests that come at the same time. */
  gather(): Promise<void>;
}

/** One answer to a request. */
export interface Answer {
  exchange: Exchange;
  text: string;
  forms: readonly AnswerForm[];
  finishReason: "stop" | "length";
  promptTokens: number;
}

export interface ChatAnswer extends Answer {
  parsed: ParsedAnswer;
  parts: readonly WrittenPart[];
  /** What the client gets, in the form in which it comes back. */
  message: ChatMessage;
}

const WITHOUT_CALLS = new ReasoningReader();

const abortedError = (): ApiError => new ApiError(503, "The generation was aborted.", "aborted");

/**
 * The requests of one agent, or of whoever holds the session's key: each is answered by the rollout engine, and kept as tokens with
 * log-probs. A request whose messages begin with those of an earlier one and its answer goes on from the very tokens of it; any other begins
 * a conversation of its own.
 */
export class GatewaySession {
  readonly exchanges: Exchange[] = [];
  readonly counts: SessionCounts = noCounts();
  /** What the last request was told that ended with an error. */
  lastError: ApiError | undefined;
  private readonly room: SessionRoom;
  private readonly callIds = new CallIds();
  private readonly conversations: Conversations;
  private readonly failures = new EngineFailures();
  /** Those whose requests are neither answered nor given up. */
  private readonly clients = new Set<AbortController>();
  /** Prompts that are being answered. */
  private readonly asked = new Set<Prompt>();
  /** When a request that goes on from an exchange last ended, however it did; in ms since 1970. */
  private readonly lastAsked = new WeakMap<Exchange, number>();
  private admitted = 0;
  /** Requests that the engine is busy with. */
  private underWay = 0;
  private answered = 0;
  private closed = false;

  constructor(
    private readonly format: ModelFormat,
    private readonly options: SessionOptions,
  ) {
    this.room = new SessionRoom(options, options.sampling.max_tokens);
    this.conversations = new Conversations(format.tokenizer, this.callIds);
  }

  /** What requests were told that were refused because their conversation has no room left. */
  get refusals(): ReadonlySet<string> {
    return this.room.refusals;
  }

  /** The first failure of the engine, its answers that cannot be true included, that the same request has not been answered since. */
  get fault(): { readonly error: unknown } | undefined {
    return this.failures.first;
  }

  /**
   * Counts a request that ends with an error, wherever it comes of: the body, the session's limits, the engine. One that is aborted ends at
   * once, as an engine may not listen to that.
   */
  async counting(client: AbortController, answer: () => Promise<void>): Promise<void> {
    this.clients.add(client);
    const aborted = new Promise<never>((_, reject) => {
      client.signal.addEventListener("abort", () => reject(abortedError()), { once: true });
    });
    try {
      await Promise.race([answer(), aborted]);
    } catch (error) {
      if (client.signal.aborted) this.counts.aborted += 1;
      else {
        this.counts.failed += 1;
        this.lastError = apiErrorOf(error);
      }
      throw error;
    } finally {
      this.clients.delete(client);
    }
  }

  /** @throws ApiError */
  chat(request: ChatRequest, client: AbortController): Promise<ChatAnswer[]> {
    const keys = conversationKeys([request.tools, request.variables], request.messages, this.callIds);
    return this.admit(keys.at(-1)!, client, async (ordinal) => {
      const { format } = this;
      const prompt = this.conversations.chat(request, keys, format.turnTokens(request));
      const inReasoning = startsInReasoning(format.tokenizer, prompt.added);
      const parser = request.readsCalls ? format.parser : WITHOUT_CALLS;
      const answers = await this.generate(prompt, request, ordinal, client.signal, request.readsCalls);
      return answers.map((answer) => {
        const { finishReason, exchange, forms } = answer;
        const { tools } = request;
        const { text, parsed, parts } = readAnswer(answer, format.tokenizer, parser, {
          tools,
          finishReason,
          startsInReasoning: inReasoning,
        });
        this.counts.invalidCalls += parsed.errors.length;
        this.counts.callsLeftOut += Math.max(0, parsed.calls.length - request.mostCalls);
        const message = assistantMessage(parsed, parts, request.mostCalls, this.callIds);
        this.conversations.rememberChat(keys.at(-1)!, message, answer.text, exchange, forms);
        return { ...answer, text, parsed, parts, message };
      });
    });
  }

  /** @throws ApiError */
  complete(request: CompletionRequest, client: AbortController): Promise<Answer[]> {
    const { prompt: given } = request;
    return this.admit(textKey(given), client, async (ordinal) => {
      const { tokenizer } = this.format;
      const text = typeof given === "string" ? given : tokenizer.decode(given);
      const answers = await this.generate(this.conversations.text(given), request, ordinal, client.signal);
      for (const { exchange, forms } of answers) this.conversations.rememberText(text, exchange, forms);
      return request.echo ? answers.map((answer) => ({ ...answer, text: text + answer.text })) : answers;
    });
  }

  /** Ends what is under way; later requests are refused. */
  close(): void {
    this.closed = true;
    for (const client of this.clients) client.abort();
  }

  /** Takes out the conversations in which nothing happened since a time (ms since 1970), and nothing is under way. */
  takeIdle(since: number): Exchange[] {
    const roots = new Map<Exchange, Exchange>();
    for (const exchange of this.exchanges)
      roots.set(exchange, exchange.parent ? roots.get(exchange.parent)! : exchange);
    const goneOnFrom = new Set([...this.asked].map(({ parent }) => parent));
    const used = this.exchanges.filter(
      (one) => goneOnFrom.has(one) || Math.max(one.endedAt, this.lastAsked.get(one) ?? 0) >= since,
    );
    const busy = new Set(used.map((exchange) => roots.get(exchange)));
    const idle = this.exchanges.filter((exchange) => !busy.has(roots.get(exchange)));
    const gone = new Set(idle);
    // In place, and one by one: a function takes some 100,000 arguments.
    let kept = 0;
    for (const exchange of this.exchanges) if (!gone.has(exchange)) this.exchanges[kept++] = exchange;
    this.exchanges.length = kept;
    this.conversations.forget(gone);
    this.failures.forget(since);
    return idle;
  }

  /** @param key name of what is asked */
  private async admit<T>(key: string, client: AbortController, work: (ordinal: number) => Promise<T>): Promise<T> {
    const { maxRequests = 10_000, maxConcurrent = 256 } = this.options;
    if (this.closed) throw new ApiError(401, "The run of this key has ended.", "invalid_api_key");
    if (this.admitted >= maxRequests) {
      throw new ApiError(400, `A run may make ${maxRequests} requests, which it has.`, "request_limit_exceeded");
    }
    if (this.underWay >= maxConcurrent) {
      throw new ApiError(429, `There are ${maxConcurrent} requests of this run under way.`, "rate_limit_exceeded");
    }
    this.underWay += 1;
    try {
      const result = await this.failures.watch(key, client.signal, () => work(this.admitted++));
      this.counts.requests += 1;
      return result;
    } finally {
      this.underWay -= 1;
    }
  }

  private async generate(
    prompt: Prompt,
    request: GenerationRequest,
    ordinal: number,
    signal: AbortSignal,
    /** Parsers read special tokens; people do not. */
    keepSpecial = false,
  ): Promise<Answer[]> {
    const { parent, kept, added } = prompt;
    const promptIds = parent === undefined ? added : joined(tokensOf(parent, kept), added);
    const promptLength = parent?.promptLength ?? this.room.promptOf(added.length);
    if (parent === undefined ? this.answered > 0 : prompt.rewritten === true) this.counts.historyBreaks += 1;
    if (parent === undefined) this.room.admitBeginning(added.length, this.answered === 0);
    countFields(notServed(request, this.options), this.counts, this.options.log);
    const room = this.room.forAnswer(promptIds.length, promptLength);
    const sampling = samplingOf(request, this.options, ordinal, room);
    const { rollout, sticky } = this.options;
    const one = async (choice: number): Promise<Generation> => {
      const seed = (sampling.seed + choice) >>> 0;
      const generation = await rollout.generate(promptIds, { ...sampling, seed }, { signal, sticky });
      if (generation.stopReason === "abort") throw abortedError();
      const fault = generationFault(generation);
      if (fault !== undefined) throw fault;
      return generation;
    };
    const generations = await this.asking(prompt, () =>
      Promise.all(Array.from({ length: request.n }, (_, choice) => one(choice))),
    );
    // An engine that did not listen: nobody gets the answer, so none is trained on.
    if (signal.aborted) throw abortedError();
    return generations.map((generation) => {
      const { answer, text, forms } = cutAtStop(generation, request.stop, this.format.tokenizer, !keepSpecial);
      const length = promptIds.length + answer.ids.length;
      const index = this.answered++;
      const exchange = { index, parent, kept, added, answer, length, promptLength, endedAt: Date.now() };
      this.exchanges.push(exchange);
      const finishReason = answer.stopReason === "length" ? "length" : "stop";
      return { exchange, text, forms, finishReason, promptTokens: promptIds.length };
    });
  }

  /** The conversation that a prompt goes on from is in use until there is an answer. */
  private async asking<T>(prompt: Prompt, answers: () => Promise<T>): Promise<T> {
    this.asked.add(prompt);
    try {
      await this.format.gather();
      return await answers();
    } finally {
      this.asked.delete(prompt);
      if (prompt.parent !== undefined) this.lastAsked.set(prompt.parent, Date.now());
    }
  }
}
