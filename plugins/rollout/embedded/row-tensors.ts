import * as tf from "@tensorflow/tfjs";
import { paddingBias } from "../../engine/embedded/decoder.ts";
import type { Request } from "./request.ts";
import type { RowSampling } from "./sample-tokens.ts";

/** What a chunk of decoding needs to know of each row. */
export interface RowTensors {
  /** [rows, 1, 1, 1, cached]: hides the places of the cache that the row has not filled. */
  bias: tf.Tensor;
  /** int32 [rows]: the newest token. */
  last: tf.Tensor1D;
  /** int32 [rows, steps]: positions of the tokens that the chunk reads. */
  positions: tf.Tensor2D;
  /** [rows, steps]: the rows' own random numbers. */
  uniforms: tf.Tensor2D;
  sampling: RowSampling;
}

/** @param rows a request may stand in several rows, which are then alike */
export function rowTensors(rows: readonly Request[], steps: number, cached: number, vocabulary: number): RowTensors {
  const count = rows.length;
  const unused = tf.tensor2d(
    Int32Array.from(rows, (request) => cached - request.readCount),
    [count, 1],
    "int32",
  );
  const places = tf.reshape(tf.range(0, cached, 1, "int32"), [1, cached]);
  const positions = new Int32Array(count * steps);
  const uniforms = new Float32Array(count * steps);
  const firstRow = new Map<Request, number>();
  rows.forEach((request, row) => {
    const start = row * steps;
    const twin = firstRow.get(request);
    if (twin !== undefined) {
      positions.copyWithin(start, twin, twin + steps);
      uniforms.copyWithin(start, twin, twin + steps);
      return;
    }
    firstRow.set(request, start);
    for (let step = 0; step < steps; step += 1) {
      // Steps past a row's end are dropped; their positions only have to exist.
      positions[start + step] = request.readCount + Math.min(step, request.remaining - 1);
      uniforms[start + step] = request.uniform();
    }
  });
  return {
    bias: tf.reshape(paddingBias(tf.greaterEqual(places, unused)), [count, 1, 1, 1, cached]),
    last: tf.tensor1d(
      Int32Array.from(rows, (request) => request.last),
      "int32",
    ),
    positions: tf.tensor2d(positions, [count, steps], "int32"),
    uniforms: tf.tensor2d(uniforms, [count, steps]),
    sampling: rowSampling(rows, vocabulary),
  };
}

function rowSampling(rows: readonly Request[], vocabulary: number): RowSampling {
  const isGreedy = ({ sampling }: Request) => sampling.temperature === 0;
  const column = (value: (request: Request) => number) => tf.tensor2d(Float32Array.from(rows, value), [rows.length, 1]);
  const inverseTemperature = column((request) => (isGreedy(request) ? 1 : 1 / request.sampling.temperature));
  if (rows.every(isGreedy)) return { inverseTemperature, greedy: "all", limits: undefined };

  const greedy = rows.some(isGreedy)
    ? tf.tensor1d(
        Uint8Array.from(rows, (request) => (isGreedy(request) ? 1 : 0)),
        "bool",
      )
    : "none";
  const topK = ({ sampling: { top_k } }: Request) => (top_k === -1 ? vocabulary : Math.min(top_k, vocabulary));
  // Off is 2: rounding must not cut the tail of a distribution whose whole mass is wanted.
  const topP = ({ sampling: { top_p } }: Request) => (top_p === 1 ? 2 : top_p);
  const limited = rows.some((request) => topK(request) < vocabulary || topP(request) < 2);
  const candidates = Math.max(...rows.map(topK));
  return {
    inverseTemperature,
    greedy,
    limits: limited ? { topK: column(topK), topP: column(topP), candidates } : undefined,
  };
}
