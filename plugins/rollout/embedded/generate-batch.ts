import { setImmediate as nextTick } from "node:timers/promises";
import * as tf from "@tensorflow/tfjs";
import { bucket } from "../../engine/embedded/bucket.ts";
import { slice, type DecoderInput } from "../../engine/embedded/decoder.ts";
import { decodeChunk, extendCache, gatherCache, prefill, type Cache, type SamplerModel } from "./decode-chunk.ts";
import type { Request } from "./request.ts";
import { rowTensors } from "./row-tensors.ts";
import { sampleTokens } from "./sample-tokens.ts";

/** Steps of one recorded graph. More would save round trips, but rows that end early are only noticed between chunks. */
const CHUNK_STEPS = [1, 2, 3, 4, 6, 8];

/**
 * Answers requests together: each distinct prompt is read once, then all rows decode in chunks of a few tokens. Between chunks rows
 * that are complete drop out, the cache grows to its next bucket, and the event loop has its turn.
 * @param isAborted asked between chunks; a request for which it is true keeps what it has
 * @param done called once a request, as soon as its answer is complete
 */
export async function generateBatch(
  model: SamplerModel,
  requests: readonly Request[],
  isAborted: (request: Request) => boolean,
  done: (request: Request) => void,
): Promise<void> {
  let rows = padRows(requests, bucket(requests.length));
  const settle = (open: readonly Request[]): Request[] =>
    open.filter((request) => {
      const complete = request.stopReason !== undefined || isAborted(request);
      if (complete) done(request);
      return !complete;
    });
  let live = settle(requests);
  let cache: Cache | undefined;
  /** Rows of the cache that go on; undefined: all. */
  let kept: Int32Array | undefined;
  try {
    while (live.length > 0) {
      const longest = Math.max(...live.map((request) => request.remaining));
      const steps = CHUNK_STEPS.find((count) => count >= longest) ?? CHUNK_STEPS.at(-1)!;
      const needed = Math.max(...live.map((request) => request.readCount)) + steps;
      const result = tf.tidy(() => {
        const current = cache ? (kept ? gatherCache(cache, kept) : cache) : readPrompts(model, rows);
        const cached = current[0]!.keys.shape[2];
        const { bias, last, positions, uniforms, sampling } = rowTensors(rows, steps, cached, model.config.vocabSize);
        const sample = (logits: tf.Tensor2D, step: number) =>
          sampleTokens(logits, slice(uniforms, 1, step, 1), sampling);
        const { ids, logprobs, read } = decodeChunk(model, current, bias, last, positions, sample);
        const next = longest > steps ? extendCache(current, read, cacheBucket(needed)) : [];
        next.forEach(({ keys, values }) => [keys, values].forEach((tensor) => tf.keep(tensor)));
        return { ids: tf.keep(ids), logprobs: tf.keep(logprobs), next };
      });
      disposeCache(cache);
      cache = result.next;
      const [ids, logprobs] = await Promise.all([result.ids.data<"int32">(), result.logprobs.data<"float32">()]);
      tf.dispose([result.ids, result.logprobs]);

      const seen = new Set<Request>();
      rows.forEach((request, row) => {
        if (seen.has(request)) return;
        seen.add(request);
        request.take(ids.subarray(row * steps, (row + 1) * steps), logprobs.subarray(row * steps, (row + 1) * steps));
      });
      live = settle(live);
      if (live.length > 0) await nextTick();
      [rows, kept] = compact(rows, live);
    }
  } finally {
    disposeCache(cache);
  }
}

/** Half as many rows or fewer are worth a smaller graph. */
function compact(rows: readonly Request[], live: readonly Request[]): [readonly Request[], Int32Array | undefined] {
  let size = rows.length;
  while (size >= 2 * Math.max(1, live.length)) size = Math.floor(size / 2);
  if (size === rows.length || live.length === 0) return [rows, undefined];
  const next = padRows(live, size);
  const places = new Map(rows.map((request, row) => [request, row]));
  return [next, Int32Array.from(next, (request) => places.get(request)!)];
}

/** Pad rows repeat the first request; what they sample is dropped. */
function padRows(requests: readonly Request[], size: number): readonly Request[] {
  return Array.from({ length: size }, (_, row) => requests[row] ?? requests[0]!);
}

/** The cache of all tokens but the last of each prompt, each distinct prompt read once. */
function readPrompts(model: SamplerModel, rows: readonly Request[]): Cache {
  const places = new Map<string, number>();
  const distinct: Int32Array[] = [];
  const placeOf = Int32Array.from(rows, ({ prompt }) => {
    const key = prompt.join();
    const place = places.get(key) ?? distinct.push(prompt) - 1;
    places.set(key, place);
    return place;
  });
  const length = cacheBucket(Math.max(1, ...distinct.map((prompt) => prompt.length - 1)));
  const cache = prefill(model, promptTensors(distinct, bucket(distinct.length), length));
  return gatherCache(cache, placeOf);
}

function promptTensors(prompts: readonly Int32Array[], rows: number, length: number): DecoderInput {
  const ids = new Int32Array(rows * length);
  const positions = new Int32Array(rows * length);
  const valid = new Uint8Array(rows * length);
  prompts.forEach((prompt, row) => {
    const count = prompt.length - 1;
    const start = (row + 1) * length - count;
    ids.set(prompt.subarray(0, count), start);
    for (let i = 0; i < count; i += 1) positions[start + i] = i;
    valid.fill(1, start, start + count);
  });
  const shape: [number, number] = [rows, length];
  return {
    ids: tf.tensor2d(ids, shape, "int32"),
    positions: tf.tensor2d(positions, shape, "int32"),
    valid: tf.tensor2d(valid, shape, "bool"),
  };
}

/** Lengths of a cache: 8, 12, 16, 24, 32, 48, … Two an octave, because a long answer goes through all of them. */
function cacheBucket(length: number): number {
  if (length <= 8) return 8;
  const step = 2 ** (Math.floor(Math.log2(length - 1)) - 1);
  return Math.ceil(length / step) * step;
}

function disposeCache(cache: Cache | undefined): void {
  cache?.forEach(({ keys, values }) => tf.dispose([keys, values]));
}
