import { createRng, VerlError, type Generation, type Rng, type SamplingParams } from "verl";
import type { ModelConfig } from "../../engine/embedded/model-config.ts";

type Limits = Pick<ModelConfig, "vocabSize" | "maxPositions">;

/** One answer under way: what was asked, what has been sampled, and who waits for it. */
export class Request {
  readonly ids: number[] = [];
  readonly logprobs: number[] = [];
  /** Set once the answer is complete. */
  stopReason: Generation["stopReason"] | undefined;
  private readonly stops: ReadonlySet<number>;
  private readonly rng: Rng;

  /** @throws VERL_ROLLOUT_REQUEST for prompts and parameters that the model cannot serve */
  constructor(
    readonly prompt: Int32Array,
    readonly sampling: SamplingParams,
    eosTokenId: number,
    config: Limits,
  ) {
    check(prompt, sampling, config);
    this.stops = new Set(sampling.ignore_eos ? sampling.stop_token_ids : [...sampling.stop_token_ids, eosTokenId]);
    this.rng = createRng(sampling.seed);
  }

  /** The newest token: the first that the model has not read. */
  get last(): number {
    return this.ids.at(-1) ?? this.prompt.at(-1)!;
  }

  /** Tokens that the model has read. */
  get readCount(): number {
    return this.prompt.length - 1 + this.ids.length;
  }

  get remaining(): number {
    return this.sampling.max_tokens - this.ids.length;
  }

  /** The next uniform number of the request's own stream: 23 bits, as the sampler wants. */
  uniform(): number {
    return (this.rng.nextU32() >>> 9) / 2 ** 23;
  }

  /**
   * Takes sampled tokens until one ends the answer; the rest of a chunk is dropped.
   * @throws VERL_ENGINE_NOT_FINITE for a log-prob that is not finite: the weights hold NaN, and so the token means nothing
   */
  take(ids: Int32Array, logprobs: Float32Array): void {
    for (let i = 0; i < ids.length && !this.stopReason; i += 1) {
      if (!Number.isFinite(logprobs[i])) {
        throw new VerlError(
          "VERL_ENGINE_NOT_FINITE",
          `The log-prob of sampled token ${this.ids.length} is ${logprobs[i]}.`,
          {
            hint: "The sampler's weights are not finite. Look at actor/grad_norm and actor/loss of the steps before.",
          },
        );
      }
      this.ids.push(ids[i]!);
      this.logprobs.push(logprobs[i]!);
      if (this.stops.has(ids[i]!)) this.stopReason = "stop";
      else if (this.remaining === 0) this.stopReason = "length";
    }
  }

  generation(weightVersion: number): Generation {
    return {
      ids: Int32Array.from(this.ids),
      logprobs: Float32Array.from(this.logprobs),
      stopReason: this.stopReason ?? "abort",
      weightVersion,
    };
  }
}

function check(prompt: Int32Array, sampling: SamplingParams, { vocabSize, maxPositions }: Limits): void {
  const { temperature, top_k: topK, top_p: topP, max_tokens: maxTokens, seed } = sampling;
  const stranger = prompt.find((id) => id < 0 || id >= vocabSize);
  const rules: [boolean, string][] = [
    [prompt.length > 0, "the prompt is empty"],
    [stranger === undefined, `the prompt holds id ${stranger}, outside the vocabulary of ${vocabSize}`],
    [Number.isSafeInteger(maxTokens) && maxTokens > 0, `max_tokens is ${maxTokens}, not a positive integer`],
    [
      prompt.length + maxTokens <= maxPositions,
      `${prompt.length} prompt tokens and ${maxTokens} new ones exceed the model's ${maxPositions} positions`,
    ],
    [temperature >= 0 && Number.isFinite(temperature), `temperature is ${temperature}, not a finite number from 0`],
    [topP > 0 && topP <= 1, `top_p is ${topP}, not in (0, 1]`],
    [Number.isSafeInteger(topK) && (topK > 0 || topK === -1), `top_k is ${topK}, neither −1 (off) nor a count`],
    [Number.isFinite(seed), `the seed is ${seed}`],
  ];
  const broken = rules.find(([holds]) => !holds);
  if (!broken) return;
  throw new VerlError("VERL_ROLLOUT_REQUEST", `The model cannot answer this request: ${broken[1]}.`, {
    hint: "Check the prompt and the sampling parameters under actor_rollout_ref.rollout.",
  });
}
