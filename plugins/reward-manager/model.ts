import {
  AnswerRewardManager,
  inject,
  loadTokenizer,
  LOGGER,
  METRICS,
  OPTIONS,
  TOKENIZER,
  toSampleReward,
  unscored,
  VerlError,
  type Answer,
  type AnswerRow,
  type ChatMessage,
  type Logger,
  type MetricsSink,
  type SampleReward,
  type ScoredAnswer,
  type Tokenizer,
} from "verl";
import { judgeRequest, readVerdict, type JudgeSettings } from "./judge.ts";
import { openService, type Post } from "./open-service.ts";
import type { EndpointSettings, LimitSettings } from "./service-options.ts";

export interface ModelOptions extends LimitSettings, EndpointSettings, JudgeSettings {
  kind: "vllm_classify" | "sglang_embedding" | "judge";
  model: string;
  tokenizer: string | null;
}

const PATHS = { vllm_classify: "classify", sglang_embedding: "v1/embeddings", judge: "v1/chat/completions" } as const;

/**
 * Scores answers by a served model: a reward model behind vLLM's `classify` or SGLang's `v1/embeddings`, which sees prompt and answer
 * through its own chat template; or a judge behind any OpenAI-compatible endpoint, which follows a rubric.
 */
export class ModelRewardManager extends AnswerRewardManager {
  private readonly post: Post;
  private loaded: Promise<Tokenizer> | undefined;

  constructor(
    @inject(TOKENIZER) tokenizer: Tokenizer,
    @inject(OPTIONS) private readonly options: ModelOptions,
    @inject(LOGGER) log: Logger,
    @inject(METRICS) metrics: MetricsSink,
  ) {
    super(tokenizer, log, metrics);
    const { url, kind, scale } = options;
    if (!(scale[0] < scale[1])) throw emptyScale(scale);
    if (kind !== "judge" && options.tokenizer === null) throw noTokenizer(kind);
    this.post = openService(`${url.replace(/\/$/, "")}/${PATHS[kind]}`, options, log, metrics);
  }

  override async load(): Promise<void> {
    if (this.options.kind !== "judge") await this.ownTokenizer();
  }

  protected override async scoreAnswer(answer: Answer, row: AnswerRow, signal?: AbortSignal): Promise<ScoredAnswer> {
    const start = performance.now();
    const reward = await this.scoreOne(answer, row.column("raw_prompt") as readonly ChatMessage[], signal);
    const seconds = (performance.now() - start) / 1000;
    return { reward, times: [{ name: this.options.kind, uid: answer.uid, seconds }] };
  }

  private async scoreOne(answer: Answer, prompt: readonly ChatMessage[], signal?: AbortSignal): Promise<SampleReward> {
    const { estimated_tokens_per_request: tokens, kind, scale } = this.options;
    try {
      const body = await this.bodyFor(answer, prompt);
      const reply = await this.post(body, tokens, signal);
      if (kind === "judge") return toSampleReward(readVerdict(reply, scale));
      return toSampleReward(kind === "vllm_classify" ? lastNumber(reply, "probs") : lastNumber(reply, "embedding"));
    } catch (error) {
      signal?.throwIfAborted();
      return unscored("error", `the reward model: ${(error as Error).message}`);
    }
  }

  private async bodyFor(
    { solution_str, ground_truth }: Answer,
    prompt: readonly ChatMessage[],
  ): Promise<Record<string, unknown>> {
    const { kind, model } = this.options;
    if (kind === "judge") return judgeRequest(model, this.options, prompt, solution_str, ground_truth);
    const tokenizer = await this.ownTokenizer();
    const input = tokenizer.renderChat([...prompt, { role: "assistant", content: solution_str }]);
    return { model, input, activation: false };
  }

  /** The reward model's own: its template differs from the policy's. */
  private ownTokenizer(): Promise<Tokenizer> {
    return (this.loaded ??= loadTokenizer(this.options.tokenizer!));
  }
}

/** The last number of the last item's list, as verl reads it. */
function lastNumber(reply: unknown, field: "probs" | "embedding"): number {
  const { data } = (reply ?? {}) as { data?: unknown };
  const item: unknown = Array.isArray(data) ? data.at(-1) : undefined;
  const numbers = (item as Record<string, unknown> | undefined)?.[field];
  const last: unknown = Array.isArray(numbers) ? numbers.at(-1) : undefined;
  if (typeof last !== "number") throw new Error(`the answer has no number in data[-1].${field}`);
  return last;
}

function noTokenizer(kind: string): VerlError {
  const path = "reward_model.reward_kwargs.tokenizer";
  return new VerlError("VERL_OPTIONS_INVALID", `The kind \`${kind}\` needs \`${path}\`.`, {
    location: { path },
    hint: "Name the folder of the reward model's tokenizer: prompt and answer are written by its chat template.",
  });
}

function emptyScale([low, high]: readonly [number, number]): VerlError {
  const path = "reward_model.reward_kwargs.scale";
  return new VerlError("VERL_OPTIONS_INVALID", `\`${path}\` is [${low}, ${high}], which no score lies in.`, {
    location: { path },
    hint: "Give the lower end first: [0, 10].",
  });
}
