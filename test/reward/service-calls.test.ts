import { describe, expect, it } from "@jest/globals";
import { TokenBucket } from "../../core/reward/service/token-bucket.ts";
import {
  fetchFailure,
  isTransient,
  parseRetryAfter,
  retryAfterOf,
  ServiceError,
} from "../../core/reward/service/service-error.ts";
import { ServiceCalls, type ServiceLimits } from "../../core/reward/service/service-calls.ts";
import { withDeadline } from "../../core/reward/deadline.ts";
import { withRetries } from "../../core/reward/service/with-retries.ts";
import { StepMetrics } from "../../core/trainer/metrics/step-metrics.ts";

function callsOf(limits: Partial<ServiceLimits> = {}, random = () => 1): { calls: ServiceCalls; metrics: StepMetrics } {
  const metrics = new StepMetrics();
  const all = { maxConcurrent: 4, maxRpm: null, maxTpm: null, attempts: 3, backoffS: 0.01, maxBackoffS: 1, ...limits };
  return { calls: new ServiceCalls(all, metrics, random), metrics };
}

describe("a bucket of units a span", () => {
  it("lets a span's worth through at once, then at its pace", () => {
    let now = 0;
    const bucket = new TokenBucket(60, 60, () => now);
    expect(Array.from({ length: 60 }, () => bucket.reserve(1)).every((wait) => wait === 0)).toBe(true);
    expect(bucket.reserve(1)).toBeCloseTo(1000, 6);
    expect(bucket.reserve(1)).toBeCloseTo(2000, 6);
    now = 62_000;
    expect(bucket.reserve(30)).toBe(0);
    expect(bucket.reserve(31)).toBeCloseTo(1000, 6);
    // Half a call a second: the first one waits for its other half.
    expect(new TokenBucket(0.5, 1, () => 0).reserve(1)).toBeCloseTo(1000, 6);
  });

  it("takes more than a span's worth as a debt", () => {
    const bucket = new TokenBucket(60, 60, () => 0);
    expect(bucket.reserve(180)).toBeCloseTo(120_000, 6);
  });
});

describe("what passes by itself", () => {
  it.each([
    [new ServiceError("x", 429), true],
    [new ServiceError("x", 404), false],
    [new ServiceError("x", undefined, undefined, true), true],
    [Object.assign(new Error("x"), { status: 503 }), true],
    [Object.assign(new Error("x"), { statusCode: 401 }), false],
    [new TypeError("fetch failed", { cause: Object.assign(new Error("x"), { code: "ECONNRESET" }) }), true],
    [new TypeError("x is not a function"), false],
    ["text", false],
  ])("%#: %s is %s", (error, expected) => expect(isTransient(error)).toBe(expected));

  it("says why fetch failed, also at all of several addresses", () => {
    const failed = (cause?: Error): string => fetchFailure(new TypeError("fetch failed", { cause }));
    expect(failed(new Error("other side closed"))).toBe("fetch failed: other side closed");
    const refused = Object.assign(new AggregateError([new Error("a"), new Error("b")]), { code: "ECONNREFUSED" });
    expect(failed(refused)).toBe("fetch failed: ECONNREFUSED");
    expect(failed()).toBe("fetch failed");
  });

  it("reads Retry-After as seconds and as a date, of our errors and of SDKs'", () => {
    expect(parseRetryAfter("3")).toBe(3);
    expect(parseRetryAfter("Thu, 01 Jan 1970 00:00:07 GMT", 2000)).toBe(5);
    expect(parseRetryAfter("Thu, 01 Jan 1970 00:00:00 GMT", 2000)).toBe(0);
    expect(parseRetryAfter("soon")).toBeUndefined();
    expect(retryAfterOf(new ServiceError("x", 429, 2))).toBe(2);
    expect(retryAfterOf({ headers: { "retry-after": "4" } })).toBe(4);
    expect(retryAfterOf({ response: { headers: new Headers({ "retry-after": "5" }) } })).toBe(5);
    expect(retryAfterOf(new Error("x"))).toBeUndefined();
  });
});

describe("a call that is tried again", () => {
  const failing =
    (error: ServiceError): (() => Promise<never>) =>
    () =>
      Promise.reject(error);
  const busy = (retryAfterS?: number): (() => Promise<never>) =>
    failing(new ServiceError("HTTP 429: busy", 429, retryAfterS));
  const seconds = async (work: () => Promise<unknown>): Promise<number> => {
    const start = performance.now();
    await work();
    return (performance.now() - start) / 1000;
  };

  it("ends with how often it was tried, where trying again may help", async () => {
    const pause = (_: unknown, attempt: number): number | undefined => (attempt < 3 ? 0 : undefined);
    await expect(withRetries(busy(), { pause })).rejects.toMatchObject({
      message: "HTTP 429: busy (3 attempts)",
      status: 429,
    });
    await expect(withRetries(busy(), { pause: () => undefined })).rejects.toThrow("HTTP 429: busy (1 attempt)");
    await expect(withRetries(failing(new ServiceError("HTTP 404: none", 404)))).rejects.toThrow(/^HTTP 404: none$/);
  });

  it("is given up at once where no time is left for another attempt", async () => {
    await expect(withDeadline(50, (signal) => withRetries(busy(3600), { signal }))).rejects.toThrow(
      "HTTP 429: busy (1 attempt; Retry-After 3600 s)",
    );
    await expect(withDeadline(50, (signal) => withRetries(busy(60), { signal }))).rejects.toThrow(
      "HTTP 429: busy (1 attempt; Retry-After 60 s)",
    );
    await expect(withRetries(busy(3600))).rejects.toThrow("(1 attempt; Retry-After 3600 s)");
    // The first pause is half a second.
    await expect(withDeadline(0.4, (signal) => withRetries(busy(), { signal }))).rejects.toThrow("busy (1 attempt)");
  });

  it("waits as long as Retry-After says", async () => {
    let tries = 0;
    const once = (): Promise<string> => (tries++ === 0 ? busy(0.7)() : Promise.resolve("done"));
    expect(await seconds(async () => expect(await withRetries(once)).toBe("done"))).toBeGreaterThanOrEqual(0.69);
  });

  it("tells the deadline what it waits after, and ends with the reason of its signal", async () => {
    let tries = 0;
    const stalls = (): Promise<string> => (tries++ === 0 ? busy()() : new Promise(() => undefined));
    await expect(withDeadline(2.5, (signal) => withRetries(stalls, { signal }))).rejects.toThrow(
      "timed out after 2.5 s; before: HTTP 429: busy (1 attempt)",
    );
    const stop = new AbortController();
    const waiting = withRetries(busy(), { signal: stop.signal });
    setTimeout(() => stop.abort(new Error("the run has ended")), 20);
    await expect(waiting).rejects.toThrow("the run has ended");
  });
});

describe("calls of a service", () => {
  it("tries again what passes, and counts it; nothing else", async () => {
    const { calls, metrics } = callsOf();
    let asked = 0;
    const twice = () => (++asked < 3 ? Promise.reject(new ServiceError("busy", 503)) : Promise.resolve("done"));
    expect(await calls.run(1, twice)).toBe("done");
    expect(metrics.finish()).toMatchObject({ "reward/service/retries/count": 2 });
    asked = 0;
    const wrong = () => Promise.reject(new ServiceError(`no ${++asked}`, 400));
    await expect(calls.run(1, wrong)).rejects.toThrow("no 1");
    const busy = () => Promise.reject(new ServiceError(`busy ${++asked}`, 503));
    await expect(calls.run(1, busy)).rejects.toThrow("busy 4");
  });

  it("waits longer each time, less by chance, and no longer than the bound", async () => {
    const pauses = async (random: number): Promise<number> => {
      const { calls } = callsOf({ attempts: 4, backoffS: 0.04, maxBackoffS: 0.1 }, () => random);
      const start = performance.now();
      await expect(calls.run(1, () => Promise.reject(new ServiceError("busy", 503)))).rejects.toThrow("busy");
      return performance.now() - start;
    };
    // 0.04 + 0.08 + 0.1, or half of that.
    expect(await pauses(1)).toBeGreaterThanOrEqual(215);
    expect(await pauses(0)).toBeGreaterThanOrEqual(105);
  });

  it("holds all calls for as long as Retry-After says, and gives up where that is too long", async () => {
    const { calls } = callsOf();
    const start = performance.now();
    let first = true;
    const limited = calls.run(1, () => {
      if (!first) return Promise.resolve(0);
      first = false;
      return Promise.reject(new ServiceError("slow down", 429, 0.2));
    });
    await new Promise((resolve) => setTimeout(resolve, 20));
    let begun = 0;
    await calls.run(1, () => Promise.resolve((begun = performance.now() - start)));
    expect(begun).toBeGreaterThanOrEqual(195);
    await limited;
    await expect(calls.run(1, () => Promise.reject(new ServiceError("later", 429, 3600)))).rejects.toThrow("later");
  });

  it("keeps requests and tokens a minute", async () => {
    const { calls } = callsOf({ maxRpm: 600, maxTpm: 6000, maxConcurrent: 1000 });
    // 600 at once, the others at 10 a second; the tokens of 2 x 3050 are 100 more than a minute's, one second's worth.
    const start = performance.now();
    await Promise.all(Array.from({ length: 602 }, () => calls.run(1, () => Promise.resolve())));
    expect(performance.now() - start).toBeGreaterThanOrEqual(190);
    const tokens = callsOf({ maxTpm: 6000 }).calls;
    const again = performance.now();
    await Promise.all([3050, 3000].map((count) => tokens.run(count, () => Promise.resolve())));
    expect(performance.now() - again).toBeGreaterThanOrEqual(490);
  });

  it("leaves the line when the run ends", async () => {
    const { calls } = callsOf({ maxRpm: 1 });
    await calls.run(1, () => Promise.resolve());
    const stop = new AbortController();
    const waiting = calls.run(1, () => Promise.resolve(), stop.signal);
    stop.abort(new Error("the run has ended"));
    await expect(waiting).rejects.toThrow("the run has ended");
  });
});
