import { stringifyLosslessJson } from "../../data/lossless-json.ts";
import type { Tokenizer } from "../../data/tokenizer.ts";
import type { Answer, ChatAnswer } from "./gateway-session.ts";

/** What all objects of one response have in common. */
export interface ResponseHead {
  id: string;
  /** Seconds since 1970. */
  created: number;
  model: string;
}

/** A piece of an answer on the wire. */
interface Delta {
  role?: "assistant";
  content?: string;
  reasoning_content?: string;
  tool_calls?: object[];
}

interface WireCall {
  id: string;
  function: { name: string; arguments: unknown };
}

/** Letters of a piece of a stream. The answer is whole before it is sent, so the size says only how often a client is called. */
const PIECE = 16;

/** The response of a chat that does not stream. */
export function chatCompletion(head: ResponseHead, answers: readonly ChatAnswer[], tokens?: Tokenizer): object {
  const choices = answers.map((answer, index) => ({
    index,
    message: wireMessage(answer),
    logprobs: tokens === undefined ? null : { content: tokenLogprobs(answer, tokens), refusal: null },
    finish_reason: finishReasonOf(answer),
  }));
  return { ...head, object: "chat.completion", choices, usage: usageOf(answers) };
}

/** The chunks of a chat that streams. */
export function* chatChunks(
  head: ResponseHead,
  answers: readonly ChatAnswer[],
  { tokens, includeUsage }: { tokens?: Tokenizer; includeUsage: boolean },
): Generator<object> {
  const usage = includeUsage ? { usage: null } : {};
  const chunk = (index: number, delta: Delta, finish: string | null, logprobs: object | null = null): object => ({
    ...head,
    object: "chat.completion.chunk",
    choices: [{ index, delta, logprobs, finish_reason: finish }],
    ...usage,
  });
  for (const [index, answer] of answers.entries()) {
    for (const delta of chatDeltas(answer)) yield chunk(index, delta, null);
    const logprobs = tokens === undefined ? null : { content: tokenLogprobs(answer, tokens), refusal: null };
    yield chunk(index, {}, finishReasonOf(answer), logprobs);
  }
  if (includeUsage) yield { ...head, object: "chat.completion.chunk", choices: [], usage: usageOf(answers) };
}

/** The response of a plain completion. */
export function textCompletion(head: ResponseHead, answers: readonly Answer[], tokens?: Tokenizer): object {
  const choices = answers.map((answer, index) => ({ ...textChoice(answer, index, tokens), text: answer.text }));
  return { ...head, object: "text_completion", choices, usage: usageOf(answers) };
}

/** The chunks of a plain completion that streams. */
export function* textChunks(
  head: ResponseHead,
  answers: readonly Answer[],
  { tokens, includeUsage }: { tokens?: Tokenizer; includeUsage: boolean },
): Generator<object> {
  const usage = includeUsage ? { usage: null } : {};
  const shared = { ...head, object: "text_completion" };
  for (const [index, answer] of answers.entries()) {
    for (const text of pieces(answer.text)) {
      yield { ...shared, choices: [{ index, text, logprobs: null, finish_reason: null }], ...usage };
    }
    yield { ...shared, choices: [{ ...textChoice(answer, index, tokens), text: "" }], ...usage };
  }
  if (includeUsage) yield { ...shared, choices: [], usage: usageOf(answers) };
}

function wireMessage({ message, parsed }: ChatAnswer): object {
  const calls = message["tool_calls"] as WireCall[] | undefined;
  return {
    role: "assistant",
    content: calls !== undefined && message.content === "" ? null : message.content,
    refusal: null,
    ...(parsed.reasoning === "" ? {} : { reasoning_content: parsed.reasoning }),
    ...(calls === undefined ? {} : { tool_calls: calls.map(wireCall) }),
  };
}

const wireCall = ({ id, function: { name, arguments: args } }: WireCall) => ({
  id,
  type: "function",
  // What is no object came as text.
  function: { name, arguments: typeof args === "string" ? args : stringifyLosslessJson(args) },
});

/** The answer in the order in which the model wrote it, with the ids that its calls have in the message. */
function* chatDeltas({ message, parts }: ChatAnswer): Generator<Delta> {
  const calls = (message["tool_calls"] ?? []) as WireCall[];
  yield { role: "assistant", content: "" };
  for (const part of parts) {
    if (part.type === "call") {
      if (part.index < calls.length) yield { tool_calls: [{ index: part.index, ...wireCall(calls[part.index]!) }] };
    } else {
      for (const text of pieces(part.text)) {
        yield part.type === "content" ? { content: text } : { reasoning_content: text };
      }
    }
  }
}

function* pieces(text: string): Generator<string> {
  for (let at = 0; at < text.length;) {
    let end = Math.min(at + PIECE, text.length);
    // A letter of two units stays whole.
    if (end < text.length && (text.charCodeAt(end) & 0xfc00) === 0xdc00) end += 1;
    yield text.slice(at, end);
    at = end;
  }
}

const finishReasonOf = ({ message, finishReason }: ChatAnswer): string =>
  message["tool_calls"] === undefined ? finishReason : "tool_calls";

function usageOf(answers: readonly Answer[]) {
  const prompt = answers[0]?.promptTokens ?? 0;
  const completion = answers.reduce((sum, { exchange }) => sum + exchange.answer.ids.length, 0);
  return { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion };
}

function tokenLogprobs({ exchange }: Answer, tokenizer: Tokenizer): object[] {
  const { ids, logprobs } = exchange.answer;
  return Array.from(ids, (id, at) => {
    const token = tokenizer.decode([id]);
    return { token, logprob: logprobs[at], bytes: [...Buffer.from(token)], top_logprobs: [] };
  });
}

function textChoice({ exchange, finishReason }: Answer, index: number, tokenizer: Tokenizer | undefined): object {
  const { ids, logprobs } = exchange.answer;
  const all = tokenizer && {
    tokens: Array.from(ids, (id) => tokenizer.decode([id])),
    token_logprobs: Array.from(logprobs),
  };
  return { index, logprobs: all ?? null, finish_reason: finishReason };
}
