import { Limiter, TokenBucket } from "verl";

/** The limits that a tool keeps towards its service. */
export interface LimitSettings {
  num_workers: number;
  rate_limit: number;
}

export const rateLimitOption = (fallback: number) =>
  ({ type: "number", exclusiveMinimum: 0, default: fallback, description: "Calls a second, of all samples." }) as const;

/** Options of {@link LimitSettings}, with a tool's own defaults. */
export const limitOptions = ({ num_workers, rate_limit }: LimitSettings) =>
  ({
    num_workers: {
      type: "integer",
      minimum: 1,
      default: num_workers,
      description: "Calls that run at once, of all samples.",
    },
    rate_limit: rateLimitOption(rate_limit),
  }) as const;

/** Lets so many calls a second start, of all samples together; a burst of one second's worth is let through. */
export const rateLimit = (perSecond: number): TokenBucket => new TokenBucket(perSecond, 1);

/** Keeps a tool's {@link LimitSettings}. */
export class CallLimits {
  private readonly places: Limiter;
  private readonly rate: TokenBucket;

  constructor({ num_workers, rate_limit }: LimitSettings) {
    this.places = new Limiter(num_workers);
    this.rate = rateLimit(rate_limit);
  }

  run<T>(call: () => Promise<T>, signal: AbortSignal): Promise<T> {
    return this.places.run(async () => {
      await this.rate.take(1, signal);
      return call();
    }, signal);
  }
}
