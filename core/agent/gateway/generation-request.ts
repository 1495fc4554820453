import type { EndpointName } from "./field-table.ts";
import { readFields, type NotedField } from "./read-fields.ts";
import { flagField, integerField, invalid, isFields, numberField, type Fields } from "./request-fields.ts";

/** What chat and plain completions have in common. */
export interface GenerationRequest {
  /** As the client calls it; any name is served by the one model. */
  model: string;
  temperature?: number;
  topP?: number;
  topK?: number;
  seed?: number;
  maxTokens?: number;
  /** Texts that end the answer, and are no part of its text. */
  stop: readonly string[];
  /** Answers. */
  n: number;
  stream: boolean;
  /** The stream ends with a chunk of token counts. */
  includeUsage: boolean;
  logprobs: boolean;
  /** Fields that are to be counted. */
  noted: readonly NotedField[];
}

const MAX_CHOICES = 64;
const MAX_STOPS = 16;
/** As in OpenAI's API. */
const MAX_LOGPROBS = 5;
const MAX_STOP_LENGTH = 1000;

/** Reads the fields that say how to sample. @throws ApiError for values out of range and for what is not served */
export function readGenerationRequest(body: Fields, endpoint: EndpointName): GenerationRequest {
  const noted = readFields(body, endpoint);
  const { model } = body;
  if (typeof model !== "string" || model === "") throw invalid("model", "it must be a name");
  const options = body["stream_options"] ?? undefined;
  if (options !== undefined && !isFields(options)) throw invalid("stream_options", "it must be an object");
  const most = 2 ** 31 - 1;
  return {
    model,
    temperature: numberField(body, "temperature", 0, 2),
    topP: readTopP(body),
    topK: integerField(body, "top_k", -1, most),
    seed: integerField(body, "seed", Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER),
    maxTokens: integerField(body, "max_completion_tokens", 1, most) ?? integerField(body, "max_tokens", 1, most),
    stop: readStop(body["stop"]),
    n: integerField(body, "n", 1, MAX_CHOICES) ?? 1,
    stream: flagField(body, "stream"),
    includeUsage: options !== undefined && flagField(options, "include_usage"),
    logprobs: readLogprobs(body["logprobs"]),
    noted,
  };
}

function readTopP(body: Fields): number | undefined {
  const value = numberField(body, "top_p", 0, 1);
  if (value === 0) throw invalid("top_p", "it must be above 0");
  return value;
}

function readStop(value: unknown): readonly string[] {
  const stops = [value ?? []].flat() as unknown[];
  const fits = stops.every((stop) => typeof stop === "string" && stop !== "" && stop.length <= MAX_STOP_LENGTH);
  if (!fits || stops.length > MAX_STOPS) throw invalid("stop", `it must be up to ${MAX_STOPS} texts`);
  return stops as string[];
}

/** A flag of chats; of plain completions the number of likeliest tokens. The sampled token's own is told, no others. */
function readLogprobs(value: unknown): boolean {
  if (value === undefined || value === null || value === false) return false;
  if (value === true || (Number.isInteger(value) && Number(value) >= 0 && Number(value) <= MAX_LOGPROBS)) return true;
  throw invalid("logprobs", `it must be true or false, or in plain completions a number from 0 to ${MAX_LOGPROBS}`);
}
