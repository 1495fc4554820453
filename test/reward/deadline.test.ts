import { execFile } from "node:child_process";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { describe, expect, it } from "@jest/globals";
import { noteFailure, secondsLeft, withDeadline, withGrace, withLazyDeadline } from "../../core/reward/deadline.ts";

const never = (): Promise<never> => new Promise(() => undefined);

describe("withDeadline", () => {
  it("gives what the call gives, or throws what it throws", async () => {
    expect(await withDeadline(9, () => 1)).toBe(1);
    await expect(withDeadline(9, () => Promise.reject(new Error("own")))).rejects.toThrow("own");
    await expect(
      withDeadline(9, () => {
        throw new Error("at once");
      }),
    ).rejects.toThrow("at once");
  });

  it.each([3_000_000, 1e12])("waits for %d s, which is more than a timer can take", async (seconds) => {
    const later = new Promise<number>((resolve) => setTimeout(() => resolve(5), 20));
    expect(await withDeadline(seconds, () => later)).toBe(5);
  });

  it("ends a call that never settles, and its signal fires with the reason", async () => {
    let signal: AbortSignal | undefined;
    const call = withDeadline(0.01, (given) => ((signal = given), never()));
    await expect(call).rejects.toThrow("timed out after 0.01 s");
    expect(signal!.aborted).toBe(true);
  });

  it("ends a call whose answer is only like a promise, and gives what such an answer comes to", async () => {
    const likePromise = <T>(then: (resolve: (value: T) => void) => void): Promise<T> => ({ then }) as Promise<T>;
    const hangs = withDeadline(0.01, () => likePromise<number>(() => undefined));
    await expect(hangs).rejects.toThrow("timed out after 0.01 s");
    expect(await withDeadline(9, () => likePromise((resolve) => resolve(3)))).toBe(3);
  });

  it("passes the run's end on", async () => {
    const stop = new AbortController();
    let signal: AbortSignal | undefined;
    const call = withDeadline(9, (given) => ((signal = given), never()), stop.signal);
    stop.abort(new Error("over"));
    await expect(call).rejects.toThrow("over");
    expect(signal!.reason).toBe(stop.signal.reason);
  });

  it("makes the signal of a lazy call when that asks for it, fired where the call has ended", async () => {
    let ask: (() => AbortSignal) | undefined;
    const call = withLazyDeadline(0.01, (signal) => ((ask = signal), never()));
    const early = ask!();
    expect([early.aborted, ask!()]).toEqual([false, early]);
    await expect(call).rejects.toThrow("timed out");
    expect(early.aborted).toBe(true);

    const late = withLazyDeadline(0.01, (signal) => ((ask = signal), never()));
    await expect(late).rejects.toThrow("timed out");
    expect(ask!().reason).toMatchObject({ message: "timed out after 0.01 s" });
  });

  it("tells how much time is left, the shortest of all that hold", async () => {
    expect([secondsLeft(undefined), secondsLeft(new AbortController().signal)]).toEqual([undefined, undefined]);
    const left = await withDeadline(500, (outer) => withDeadline(900, (inner) => secondsLeft(inner), outer));
    expect(left).toBeGreaterThan(450);
    expect(left).toBeLessThanOrEqual(500);
    const least = await withDeadline(300, (outer) => withDeadline(100, (inner) => secondsLeft(inner), outer));
    expect(least).toBeGreaterThan(50);
    expect(least).toBeLessThanOrEqual(100);
  });

  it("says what went wrong meanwhile, whichever deadline ends the call", async () => {
    const failing = (signal: AbortSignal): Promise<never> => (noteFailure(signal, "HTTP 500: busy"), never());
    const message = "timed out after 0.02 s; before: HTTP 500: busy";
    await expect(withDeadline(0.02, failing)).rejects.toThrow(message);
    await expect(withDeadline(0.02, (outer) => withDeadline(9, failing, outer))).rejects.toThrow(message);
    await expect(withDeadline(9, (outer) => withDeadline(0.02, failing, outer))).rejects.toThrow(message);
  });

  it("keeps a process alive that has nothing else to wait for", async () => {
    const file = pathToFileURL("core/reward/deadline.ts").href;
    const script = `const { withDeadline } = await import(${JSON.stringify(file)});
      await withDeadline(0.05, () => new Promise(() => {})).catch((error) => console.log(error.message));`;
    const { stdout } = await promisify(execFile)(process.execPath, [
      "--import",
      "tsx",
      "--input-type=module",
      "-e",
      script,
    ]);
    expect(stdout).toBe("timed out after 0.05 s\n");
  });

  it("lets many calls wait for one signal without a warning", async () => {
    const file = pathToFileURL("core/reward/deadline.ts").href;
    const script = `const { withDeadline } = await import(${JSON.stringify(file)});
      const { signal } = new AbortController();
      await Promise.all(Array.from({ length: 64 }, () => withDeadline(9, () => new Promise((done) => setTimeout(done, 1)), signal)));`;
    const { stderr } = await promisify(execFile)(process.execPath, [
      "--import",
      "tsx",
      "--input-type=module",
      "-e",
      script,
    ]);
    expect(stderr).toBe("");
  });
});

describe("withGrace", () => {
  it("lets work end for a while after a stop, then fires with its reason", async () => {
    const stop = new AbortController();
    stop.abort(new Error("asked"));
    expect(await withGrace(stop.signal, 9, (signal) => Promise.resolve(signal.aborted))).toBe(false);
    const hung = withGrace(
      stop.signal,
      0.01,
      (signal) => new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error))),
    );
    await expect(hung).rejects.toBe(stop.signal.reason);
  });
});
