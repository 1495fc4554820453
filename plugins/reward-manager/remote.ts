import {
  inject,
  LOGGER,
  METRICS,
  OPTIONS,
  readAnswers,
  reportTimes,
  reportUnscored,
  RewardManager,
  stringifyLosslessJson,
  TOKENIZER,
  toSampleReward,
  unscored,
  type Answer,
  type DataProto,
  type Logger,
  type MetricsSink,
  type SampleReward,
  type Tokenizer,
} from "verl";
import { openService, type Post } from "./open-service.ts";
import type { EndpointSettings, LimitSettings } from "./service-options.ts";

export interface RemoteOptions extends LimitSettings, EndpointSettings {
  batch_size: number;
  max_request_mb: number;
}

interface Sample {
  readonly row: number;
  readonly bytes: number;
  readonly json: Record<string, unknown>;
}

/**
 * Scores answers by a service over HTTP. A request is
 *
 *     { "samples": [{ "id", "data_source", "solution_str", "ground_truth", "extra_info" }, …] }
 *
 * and its answer `{ "results": […] }`, one a sample in order: a number, an object with `score` and parts, or `{ "unscored": "why" }`.
 */
export class RemoteRewardManager extends RewardManager {
  private readonly post: Post;

  constructor(
    @inject(TOKENIZER) private readonly tokenizer: Tokenizer,
    @inject(OPTIONS) private readonly options: RemoteOptions,
    @inject(LOGGER) private readonly log: Logger,
    @inject(METRICS) private readonly metrics: MetricsSink,
  ) {
    super();
    this.post = openService(options.url, options, log, metrics);
  }

  async score(batch: DataProto, { signal }: { validate: boolean; signal?: AbortSignal }): Promise<SampleReward[]> {
    const answers = readAnswers(batch, this.tokenizer);
    const rewards = new Array<SampleReward>(answers.length);
    const requests = this.requestsFor(answers, (row, reward) => (rewards[row] = reward));
    const times = await Promise.all(
      requests.map(async (samples) => {
        const start = performance.now();
        const scored = await this.ask(samples, signal);
        samples.forEach(({ row }, at) => (rewards[row] = scored[at]!));
        const seconds = (performance.now() - start) / 1000;
        return { name: "remote", uid: answers[samples[0]!.row]!.uid, seconds };
      }),
    );
    reportUnscored(this.log, rewards, answers);
    reportTimes(this.metrics, this.log, times);
    return rewards;
  }

  /** Samples in requests that keep both bounds; one that alone is too large stays unscored. */
  private requestsFor(answers: readonly Answer[], settle: (row: number, reward: SampleReward) => void): Sample[][] {
    const { batch_size, max_request_mb } = this.options;
    const most = max_request_mb * 2 ** 20;
    const requests: Sample[][] = [];
    let bytes = 0;
    answers.forEach(({ uid, data_source, solution_str, ground_truth, extra_info }, row) => {
      const json = { id: uid, data_source, solution_str, ground_truth: ground_truth ?? null, extra_info };
      const sample = { row, json, bytes: Buffer.byteLength(stringifyLosslessJson(json)) + 1 };
      if (sample.bytes > most) {
        return settle(row, unscored("error", `the sample has ${sample.bytes} bytes, more than a request may have`));
      }
      const open = requests.at(-1);
      if (open === undefined || open.length === batch_size || bytes + sample.bytes > most) {
        requests.push([sample]);
        bytes = sample.bytes;
      } else {
        open.push(sample);
        bytes += sample.bytes;
      }
    });
    return requests;
  }

  private async ask(samples: readonly Sample[], signal?: AbortSignal): Promise<SampleReward[]> {
    const tokens = this.options.estimated_tokens_per_request * samples.length;
    const body = { samples: samples.map(({ json }) => json) };
    try {
      const answer = await this.post(body, tokens, signal);
      return resultsOf(answer, samples.length);
    } catch (error) {
      signal?.throwIfAborted();
      return samples.map(() => unscored("error", `the scoring service: ${(error as Error).message}`));
    }
  }
}

function resultsOf(answer: unknown, count: number): SampleReward[] {
  const { results } = (answer ?? {}) as { results?: unknown };
  if (!Array.isArray(results)) throw new Error("the answer has no list `results`");
  if (results.length !== count) throw new Error(`it returned ${results.length} results for ${count} samples`);
  return results.map((result: unknown) => {
    const reason = (result as { unscored?: unknown } | null)?.unscored;
    return typeof reason === "string" ? unscored("error", `the scoring service: ${reason}`) : toSampleReward(result);
  });
}
