import type { MetricsSink } from "../../registry/metrics-sink.ts";
import { Limiter } from "./limiter.ts";
import { pause } from "./pause.ts";
import { isTransient, retryAfterOf } from "./service-error.ts";
import { TokenBucket } from "./token-bucket.ts";
import { withRetries } from "./with-retries.ts";

/** Seconds. */
const MINUTE = 60;

export interface ServiceLimits {
  /** Calls under way at once. */
  readonly maxConcurrent: number;
  /** Requests a minute; null: no limit. */
  readonly maxRpm: number | null;
  /** Tokens a minute; null: no limit. */
  readonly maxTpm: number | null;
  /** Attempts of a call, the first included. */
  readonly attempts: number;
  /** Seconds before the second attempt, twice as long before each next one. */
  readonly backoffS: number;
  /** Seconds at most before an attempt; a service that asks for a longer pause is given up. */
  readonly maxBackoffS: number;
}

/**
 * Calls of a service that has limits: requests and tokens a minute, calls at once. Calls that failed in a way that passes are tried
 * again after a pause that grows, by chance between half and all of it, or as long as `Retry-After` says; then all calls wait.
 */
export class ServiceCalls {
  private readonly requests: TokenBucket | undefined;
  private readonly tokens: TokenBucket | undefined;
  private readonly places: Limiter;
  /** No call starts before (`performance.now()`). */
  private closedUntil = 0;

  constructor(
    private readonly limits: ServiceLimits,
    private readonly metrics: MetricsSink,
    private readonly random: () => number = Math.random,
  ) {
    const { maxRpm, maxTpm, maxConcurrent } = limits;
    this.requests = maxRpm === null ? undefined : new TokenBucket(maxRpm, MINUTE);
    this.tokens = maxTpm === null ? undefined : new TokenBucket(maxTpm, MINUTE);
    this.places = new Limiter(maxConcurrent);
  }

  /** @param tokens that the call is likely to use. @throws what the last attempt threw; the reason of `signal`. */
  run<T>(tokens: number, call: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    return withRetries(() => this.attempt(tokens, call, signal), {
      signal,
      pause: (error, attempt) => {
        if (attempt >= this.limits.attempts || !isTransient(error)) return undefined;
        const pause = this.pauseAfter(error, attempt);
        if (pause !== undefined) this.metrics.add("reward/service/retries/count", 1);
        return pause;
      },
    });
  }

  private async attempt<T>(tokens: number, call: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const start = performance.now();
    await this.requests?.take(1, signal);
    await this.tokens?.take(tokens, signal);
    return this.places.run(async () => {
      const closed = this.closedUntil - performance.now();
      if (closed > 0) await pause(closed, signal);
      this.metrics.add("reward/service/wait_s/mean", (performance.now() - start) / 1000);
      return call();
    }, signal);
  }

  /** Seconds; undefined: longer than this is willing to wait. */
  private pauseAfter(error: unknown, attempt: number): number | undefined {
    const { backoffS, maxBackoffS } = this.limits;
    const asked = retryAfterOf(error);
    if (asked !== undefined) {
      if (asked > maxBackoffS) return undefined;
      this.closedUntil = Math.max(this.closedUntil, performance.now() + asked * 1000);
      return asked;
    }
    return Math.min(maxBackoffS, backoffS * 2 ** (attempt - 1)) * (0.5 + this.random() / 2);
  }
}
