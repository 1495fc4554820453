import { createWriteStream } from "node:fs";
import { rm } from "node:fs/promises";
import { Readable, Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { VerlError } from "verl";

export interface DownloadLimits {
  /** Most bytes of a file, whatever the server says of its length. */
  readonly bytes: number;
  /** Most milliseconds until the server answers. Unreachable ones should not hold up what works without them. */
  readonly answerMs: number;
  /** Most milliseconds without a byte: a slow line is no reason to give up, a dead one is. */
  readonly stallMs: number;
}

/** TensorFlow's archives have 200 to 600 MB. */
const LIMITS: DownloadLimits = { bytes: 4 * 2 ** 30, answerMs: 15_000, stallMs: 60_000 };

const HINT =
  "Try again, or pass `--from python` for TensorFlow's Python package, or `--from <file.tar.gz>` for an archive that you fetched yourself.";

/** Fetches a file; what has arrived of one that fails is removed. @throws VERL_BACKEND_INSTALL; the signal's reason where it was aborted. */
export async function download(
  url: string,
  file: string,
  signal: AbortSignal,
  { bytes, answerMs, stallMs }: DownloadLimits = LIMITS,
): Promise<void> {
  const failed = (why: string, cause?: unknown): VerlError =>
    new VerlError("VERL_BACKEND_INSTALL", `The download of ${url} ${why}.`, { hint: HINT, cause });
  const tooLarge = (): VerlError => failed(`is larger than the ${bytes / 2 ** 20} MiB that are allowed`);
  const watch = new AbortController();
  const giveUpAfter = (ms: number, why: string): NodeJS.Timeout =>
    setTimeout(() => watch.abort(failed(`${why} for ${ms / 1000} s`)), ms);
  let timer = giveUpAfter(answerMs, "got no answer");
  const either = AbortSignal.any([signal, watch.signal]);
  try {
    const response = await fetch(url, { signal: either });
    clearTimeout(timer);
    if (!response.ok || response.body === null) {
      await response.body?.cancel();
      throw failed(`was answered by ${response.status} ${response.statusText}`);
    }
    if (Number(response.headers.get("content-length") ?? 0) > bytes) {
      await response.body.cancel();
      throw tooLarge();
    }
    timer = giveUpAfter(stallMs, "stood still");
    let arrived = 0;
    const counted = new Transform({
      transform(chunk: Buffer, _, done) {
        timer.refresh();
        arrived += chunk.length;
        done(arrived > bytes ? tooLarge() : null, chunk);
      },
    });
    await pipeline(Readable.fromWeb(response.body as never), counted, createWriteStream(file), { signal: either });
  } catch (error) {
    await rm(file, { force: true });
    if (signal.aborted) throw signal.reason;
    if (watch.signal.aborted) throw watch.signal.reason;
    throw error instanceof VerlError ? error : failed(`broke off: ${(error as Error).message}`, error);
  } finally {
    clearTimeout(timer);
  }
}
