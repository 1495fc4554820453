import type { EntryMeta } from "verl";

type Properties = NonNullable<NonNullable<EntryMeta["optionsSchema"]>["properties"]>;

/** The limits that a manager keeps towards a service. */
export interface LimitSettings {
  max_concurrent: number;
  max_rpm: number | null;
  max_tpm: number | null;
  estimated_tokens_per_request: number;
  attempts: number;
  backoff_s: number;
  max_backoff_s: number;
}

/** Options of {@link LimitSettings}, with a manager's own default of calls at once. */
export const limitOptions = (maxConcurrent: number): Properties => ({
  max_concurrent: { type: "integer", minimum: 1, default: maxConcurrent, description: "Calls under way at once." },
  max_rpm: {
    type: ["number", "null"],
    exclusiveMinimum: 0,
    default: null,
    description: "Requests a minute; null: no limit.",
  },
  max_tpm: {
    type: ["number", "null"],
    exclusiveMinimum: 0,
    default: null,
    description: "Tokens a minute; null: no limit.",
  },
  estimated_tokens_per_request: {
    type: "number",
    exclusiveMinimum: 0,
    default: 2000,
    description: "Tokens that a request is taken to use, for `max_tpm`.",
  },
  attempts: {
    type: "integer",
    minimum: 1,
    default: 4,
    description:
      "Attempts of a call: again after a broken connection and after HTTP 408, 409, 425, 429, 500, 502, 503, 504 or 529.",
  },
  backoff_s: {
    type: "number",
    minimum: 0,
    default: 1,
    description: "Seconds before the second attempt, twice as long before each next one, less up to half by chance.",
  },
  max_backoff_s: {
    type: "number",
    minimum: 0,
    default: 60,
    description: "Seconds at most before an attempt; a service whose `Retry-After` is longer is given up.",
  },
});

/** What calls of a service report. */
export const SERVICE_METRICS = {
  "reward/service/retries/count": "Calls that were tried again.",
  "reward/service/wait_s/mean": "Seconds that a call waited for the limits.",
};

/** How a service is reached. */
export interface EndpointSettings {
  url: string;
  token_env: string | null;
  timeout: number;
  max_response_mb: number;
}

/** Options of {@link EndpointSettings}. */
export const endpointOptions = (url: string): Properties => ({
  url: { type: "string", pattern: "^https?://", description: url },
  token_env: {
    type: ["string", "null"],
    default: null,
    description: "Environment variable with the token, which is sent as `Authorization: Bearer …`.",
  },
  timeout: { type: "number", exclusiveMinimum: 0, default: 60, description: "Seconds that one request may take." },
  max_response_mb: {
    type: "number",
    exclusiveMinimum: 0,
    default: 16,
    description: "MiB of an answer at most; more is an error.",
  },
});
