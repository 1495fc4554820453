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
  type CallTime,
  type Logger,
  type MetricsSink,
  type RewardSession,
  type SampleReward,
  type Tokenizer,
} from "verl";
import { openService, type Post } from "./open-service.ts";
import type { EndpointSettings, LimitSettings } from "./service-options.ts";

export interface RemoteOptions extends LimitSettings, EndpointSettings {
  batch_size: number;
  max_request_mb: number;
}

/** Samples of one request that is being filled. */
interface Request {
  readonly rows: number[];
  readonly samples: Record<string, unknown>[];
  bytes: number;
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
    const scoring = new RemoteScoring(this.options, (samples) => this.ask(samples, signal));
    const answers = readAnswers(batch, this.tokenizer);
    for (const answer of answers) scoring.add(answer);
    return this.report(scoring, [...answers.keys()]);
  }

  /** A request goes as soon as it is full, or no more rows come. */
  override open({ signal }: { signal: AbortSignal }): RewardSession {
    const scoring = new RemoteScoring(this.options, (samples) => this.ask(samples, signal));
    return {
      add: (row) => readAnswers(row, this.tokenizer).forEach((answer) => scoring.add(answer)),
      end: (order) => this.report(scoring, order),
    };
  }

  private async report(scoring: RemoteScoring, order: readonly number[]): Promise<SampleReward[]> {
    const times = await scoring.end();
    const rewards = order.map((row) => scoring.rewards[row]!);
    reportUnscored(
      this.log,
      rewards,
      order.map((row) => scoring.answers[row]!),
    );
    reportTimes(this.metrics, this.log, times);
    return rewards;
  }

  private async ask(samples: readonly unknown[], signal?: AbortSignal): Promise<SampleReward[]> {
    const tokens = this.options.estimated_tokens_per_request * samples.length;
    try {
      const answer = await this.post({ samples }, tokens, signal);
      return resultsOf(answer, samples.length);
    } catch (error) {
      signal?.throwIfAborted();
      return samples.map(() => unscored("error", `the scoring service: ${(error as Error).message}`));
    }
  }
}

/** The answers of one batch, in requests that keep both bounds; an answer that alone is too large stays unscored. */
class RemoteScoring {
  readonly answers: Answer[] = [];
  /** Of each answer, once `end` has. */
  readonly rewards: SampleReward[] = [];
  private readonly requests: Promise<CallTime>[] = [];
  private filling: Request = emptyRequest();

  constructor(
    private readonly options: Pick<RemoteOptions, "batch_size" | "max_request_mb">,
    private readonly ask: (samples: readonly unknown[]) => Promise<SampleReward[]>,
  ) {}

  add(answer: Answer): void {
    const most = this.options.max_request_mb * 2 ** 20;
    const { uid, data_source, solution_str, ground_truth, extra_info } = answer;
    const row = this.answers.push(answer) - 1;
    const sample = { id: uid, data_source, solution_str, ground_truth: ground_truth ?? null, extra_info };
    const bytes = Buffer.byteLength(stringifyLosslessJson(sample)) + 1;
    if (bytes > most) {
      this.rewards[row] = unscored("error", `the sample has ${bytes} bytes, more than a request may have`);
      return;
    }
    if (this.filling.bytes + bytes > most) this.send();
    this.filling.rows.push(row);
    this.filling.samples.push(sample);
    this.filling.bytes += bytes;
    if (this.filling.rows.length === this.options.batch_size) this.send();
  }

  /** Sends the rest and waits. @returns the seconds of each request */
  end(): Promise<CallTime[]> {
    this.send();
    return Promise.all(this.requests);
  }

  private send(): void {
    const { rows, samples } = this.filling;
    if (rows.length === 0) return;
    this.filling = emptyRequest();
    const start = performance.now();
    const request = this.ask(samples).then((scored): CallTime => {
      rows.forEach((row, at) => (this.rewards[row] = scored[at]!));
      const seconds = (performance.now() - start) / 1000;
      return { name: "remote", uid: this.answers[rows[0]!]!.uid, seconds };
    });
    request.catch(() => undefined); // `end` tells it.
    this.requests.push(request);
  }
}

const emptyRequest = (): Request => ({ rows: [], samples: [], bytes: 0 });

function resultsOf(answer: unknown, count: number): SampleReward[] {
  const { results } = (answer ?? {}) as { results?: unknown };
  if (!Array.isArray(results)) throw new Error("the answer has no list `results`");
  if (results.length !== count) throw new Error(`it returned ${results.length} results for ${count} samples`);
  return results.map((result: unknown) => {
    const reason = (result as { unscored?: unknown } | null)?.unscored;
    return typeof reason === "string" ? unscored("error", `the scoring service: ${reason}`) : toSampleReward(result);
  });
}
