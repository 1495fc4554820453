import { isFields } from "./request-fields.ts";

/**
 * What becomes of a field of a request:
 * `served` – done as asked, or of no meaning to the answer;
 * `prompt` – done: the model is shown another prompt, and that is what is trained on; counted;
 * `sampling` – the run's sampling is kept; counted;
 * `form` – the policy answers as it does, and whoever asked checks the answer; counted;
 * `refused` – a 400 with the field's name and the reason.
 * A field that is not in the table is ignored and counted.
 */
export type Treatment = "served" | "prompt" | "sampling" | "form" | "refused";

export type EndpointName = "chat" | "completions";

export interface FieldRule {
  readonly fields: readonly string[];
  readonly treatment: Treatment;
  /** What it means here, or why it is refused: a clause without its full stop. */
  readonly about: string;
  /** The one endpoint that it is a field of. Default: both. */
  readonly only?: EndpointName;
  /** Whether a value asks for nothing. Null always does so. */
  readonly neutral?: (value: unknown) => boolean;
}

const is =
  (...values: unknown[]) =>
  (value: unknown): boolean =>
    values.includes(value);
const empty = (value: unknown): boolean =>
  Array.isArray(value) ? value.length === 0 : isFields(value) && Object.keys(value).length === 0;
const isText = (value: unknown): boolean => isFields(value) && value["type"] === "text";
const textAlone = (value: unknown): boolean => Array.isArray(value) && value.every((one) => one === "text");

/** Every field that is known, the docs' order. `README.md` beside this file is written from it. */
export const FIELD_TABLE: readonly FieldRule[] = [
  { fields: ["model"], treatment: "served", about: "any name; there is one model" },
  {
    fields: ["messages"],
    only: "chat",
    treatment: "served",
    about: "texts and parts of text, of the roles system, developer, user, assistant and tool",
  },
  { fields: ["prompt"], only: "completions", treatment: "served", about: "one text, or one list of token ids" },
  { fields: ["tools"], only: "chat", treatment: "served", about: "functions; they go to the chat template" },
  {
    fields: ["parallel_tool_calls"],
    only: "chat",
    treatment: "served",
    about: "false: the client gets the first call alone; what was sampled stays",
  },
  { fields: ["max_tokens", "max_completion_tokens"], treatment: "served", about: "within what the response has left" },
  { fields: ["stop"], treatment: "served", about: "up to 16 texts" },
  { fields: ["n"], treatment: "served", about: "up to 64 answers; of a sample's conversations one is trained on" },
  {
    fields: ["stream", "stream_options"],
    treatment: "served",
    about: "an answer is whole before its first piece comes",
  },
  { fields: ["logprobs"], treatment: "served", about: "of the sampled tokens alone" },
  {
    fields: ["echo"],
    only: "completions",
    treatment: "served",
    about: "the prompt comes before the answer's text; not with `logprobs`",
  },
  {
    fields: [
      "user",
      "metadata",
      "store",
      "service_tier",
      "safety_identifier",
      "prompt_cache_key",
      "prompt_cache_retention",
      "prediction",
    ],
    treatment: "served",
    about: "accepted; they do nothing to an answer",
  },
  {
    fields: ["chat_template_kwargs"],
    only: "chat",
    treatment: "prompt",
    neutral: empty,
    about:
      "variables of the chat template, over those of `data.apply_chat_template_kwargs`; other ones begin another conversation",
  },
  {
    fields: ["reasoning_effort"],
    only: "chat",
    treatment: "prompt",
    about: "the chat template's variable of that name; templates without it are as they were",
  },
  {
    fields: ["temperature", "top_p", "top_k", "seed"],
    treatment: "sampling",
    about: "the run's own is kept while training, since log-probs hold for one sampling; `verl gateway` serves them",
  },
  { fields: ["min_p", "top_a"], treatment: "sampling", neutral: is(0), about: "no such cut is made" },
  { fields: ["typical_p"], treatment: "sampling", neutral: is(1), about: "no such cut is made" },
  {
    fields: ["frequency_penalty", "presence_penalty"],
    treatment: "sampling",
    neutral: is(0),
    about: "no token is made less likely",
  },
  {
    fields: ["repetition_penalty", "length_penalty"],
    treatment: "sampling",
    neutral: is(1),
    about: "no token is made less likely",
  },
  {
    fields: ["logit_bias", "bad_words", "allowed_token_ids", "logits_processors"],
    treatment: "sampling",
    neutral: empty,
    about: "every token may be sampled, as likely as the policy has it",
  },
  { fields: ["min_tokens"], treatment: "sampling", neutral: is(0), about: "an answer ends where the policy ends it" },
  {
    fields: ["ignore_eos"],
    treatment: "sampling",
    neutral: is(false),
    about: "an answer ends where the policy ends it",
  },
  {
    fields: ["response_format"],
    only: "chat",
    treatment: "form",
    neutral: isText,
    about: "the schema is not shown to the model either: name the form in the messages",
  },
  {
    fields: ["tool_choice"],
    only: "chat",
    treatment: "form",
    neutral: is("auto", "none"),
    about:
      "the policy calls what it likes, or nothing; `auto` and `none` are served, and with `none` no calls are read out of the answer",
  },
  {
    fields: ["tools[].function.strict"],
    only: "chat",
    treatment: "form",
    about: "arguments may fit the schema or not",
  },
  {
    fields: [
      "structured_outputs",
      "structural_tag",
      "guided_json",
      "guided_regex",
      "guided_choice",
      "guided_grammar",
      "json_schema",
      "regex",
      "ebnf",
      "grammar",
    ],
    treatment: "form",
    about: "the answer may fit or not",
  },
  { fields: ["verbosity"], only: "chat", treatment: "form", about: "ask for it in the messages" },
  {
    fields: ["functions", "function_call"],
    only: "chat",
    treatment: "refused",
    neutral: is("auto", "none"),
    about: "they are the older form of `tools` and `tool_choice`, which are served",
  },
  {
    fields: ["top_logprobs", "prompt_logprobs"],
    treatment: "refused",
    neutral: is(0),
    about: "engines tell the log-prob of the sampled token alone",
  },
  {
    fields: ["echo"],
    only: "chat",
    treatment: "refused",
    neutral: is(false),
    about: "an answer is the model's own message",
  },
  {
    fields: ["best_of"],
    treatment: "refused",
    neutral: is(1),
    about: "the likeliest of several answers is no sample of the policy; ask for `n`",
  },
  {
    fields: ["use_beam_search"],
    treatment: "refused",
    neutral: is(false),
    about: "what a search finds is no sample of the policy",
  },
  {
    fields: ["suffix"],
    only: "completions",
    treatment: "refused",
    neutral: is(""),
    about: "the model goes on from a prompt; it fills no gap",
  },
  {
    fields: ["audio", "modalities", "web_search_options"],
    only: "chat",
    treatment: "refused",
    neutral: textAlone,
    about: "the model reads and writes text alone",
  },
  {
    fields: ["continue_final_message"],
    only: "chat",
    treatment: "refused",
    neutral: is(false),
    about: "an answer has no words that the client wrote; `/v1/completions` goes on from any text",
  },
  {
    fields: ["add_generation_prompt"],
    only: "chat",
    treatment: "refused",
    neutral: is(true),
    about: "an answer begins behind the chat template's generation prompt; `/v1/completions` goes on from any text",
  },
  {
    fields: ["chat_template"],
    only: "chat",
    treatment: "refused",
    about: "the model's chat template is the run's (`actor_rollout_ref.model.custom_chat_template`)",
  },
  {
    fields: ["documents"],
    only: "chat",
    treatment: "refused",
    neutral: empty,
    about: "they are a variable of the chat template: put them into `chat_template_kwargs`",
  },
  {
    fields: ["truncate_prompt_tokens"],
    treatment: "refused",
    about: "a prompt that was cut goes on from no answer; cut the messages",
  },
  {
    fields: ["stop_token_ids"],
    treatment: "refused",
    neutral: empty,
    about: "the tokens that end an answer are the run's; name their texts in `stop`",
  },
  {
    fields: ["include_stop_str_in_output"],
    treatment: "refused",
    neutral: is(false),
    about: "answers end before a stop text",
  },
  { fields: ["skip_special_tokens"], treatment: "refused", neutral: is(true), about: "answers have no special tokens" },
];

const BY_NAME: Readonly<Record<EndpointName, ReadonlyMap<string, FieldRule>>> = {
  chat: rulesOf("chat"),
  completions: rulesOf("completions"),
};

function rulesOf(endpoint: EndpointName): ReadonlyMap<string, FieldRule> {
  const rules = FIELD_TABLE.filter(({ only = endpoint }) => only === endpoint);
  return new Map(rules.flatMap((rule) => rule.fields.map((field) => [field, rule] as const)));
}

/** What is said of a field; undefined for one that is not known. */
export const ruleOf = (endpoint: EndpointName, field: string): FieldRule | undefined => BY_NAME[endpoint].get(field);
