import type * as tf from "@tensorflow/tfjs";
import type { LinearLogProbAttrs } from "verl";
import { gridOf, type Gpu, type Slice } from "./dispatch.ts";
import { rowCoefficients, rowOutputs, runRowGradient } from "./log-prob-entropy.ts";
import { logitsLayout } from "./logits-layout.ts";
import { matmul } from "./matmul.ts";
import { rowStatisticsSource, STATE } from "./row-statistics.ts";

const WORKGROUP = 256;
/** Logits that exist at once, where the caller has no wish: 128 MiB. */
const PIECE_ELEMENTS = 2 ** 25;
/** Pieces are as many columns wide, or the rest: any such row of weights starts where a binding may. */
const STEP = 64;

type Inputs = Readonly<Record<string, tf.TensorInfo>>;

interface Piece {
  readonly first: number;
  readonly columns: number;
  /** The piece's rows of the weights or of their gradient. */
  slice(weights: tf.TensorInfo): Slice;
}

function vocabularyPieces(tokens: number, vocabulary: number, width: number, pieceElements: number): Piece[] {
  const most = Math.max(STEP, Math.floor(pieceElements / tokens / STEP) * STEP);
  const pieces: Piece[] = [];
  for (let first = 0; first < vocabulary; first += most) {
    const columns = Math.min(most, vocabulary - first);
    const slice = (tensor: tf.TensorInfo): Slice => ({
      tensor,
      offset: first * width * 4,
      size: columns * width * 4,
    });
    pieces.push({ first, columns, slice });
  }
  return pieces;
}

/** Log-prob, entropy, log-sum-exp, Σπ² and normaliser of softmax(hidden · weightᵀ / temperature), a piece of the vocabulary at a time. */
export function linearLogProbEntropy(gpu: Gpu, inputs: Inputs, attrs: LinearLogProbAttrs): tf.TensorInfo[] {
  const { hidden, weight, targets } = inputs as Record<"hidden" | "weight" | "targets", tf.TensorInfo>;
  const [tokens, width] = hidden.shape as [number, number];
  const vocabulary = weight.shape[0]!;
  const outputs = rowOutputs(gpu, tokens);
  const state = gpu.allocate([tokens * STATE]);
  const workgroup = gpu.workgroupSize(WORKGROUP);
  const pieces = vocabularyPieces(tokens, vocabulary, width, attrs.pieceElements || PIECE_ELEMENTS);
  const logits = gpu.allocate([tokens, pieces[0]!.columns]);
  for (const piece of pieces) {
    const { columns, first } = piece;
    product(gpu, hidden, weight, piece, logits);
    const layout = logitsLayout(columns, false);
    gpu.run({
      label: "linear_log_prob_entropy",
      source: rowStatisticsSource(layout, columns, workgroup, true),
      buffers: [logits, targets, state, ...outputs],
      uniforms: [
        ["u32", tokens],
        ["u32", 0],
        ["u32", layout.stride],
        ["u32", columns],
        ["f32", 1 / attrs.temperature],
        ["i32", first],
        ["u32", Number(first === 0)],
        ["u32", Number(first + columns === vocabulary)],
      ],
      workgroups: gridOf(gpu, tokens),
    });
  }
  gpu.release(logits);
  gpu.release(state);
  return outputs;
}

/**
 * Gradients of hidden states and weights. Logits are made again, a piece at a time, and their gradients take their place.
 * @param inputs as `rowCoefficients` reads them, and `hidden`, `weight`, `targets`.
 */
export function linearLogProbEntropyGradient(gpu: Gpu, inputs: Inputs, attrs: LinearLogProbAttrs): tf.TensorInfo[] {
  const { hidden, weight, targets } = inputs as Record<"hidden" | "weight" | "targets", tf.TensorInfo>;
  const [tokens, width] = hidden.shape as [number, number];
  const vocabulary = weight.shape[0]!;
  const { temperature } = attrs;
  const dHidden = gpu.allocate(hidden.shape);
  const dWeight = gpu.allocate(weight.shape);
  const coefficients = rowCoefficients(gpu, inputs, tokens, temperature);
  const pieces = vocabularyPieces(tokens, vocabulary, width, attrs.pieceElements || PIECE_ELEMENTS);
  const logits = gpu.allocate([tokens, pieces[0]!.columns]);
  for (const piece of pieces) {
    const { columns, first } = piece;
    product(gpu, hidden, weight, piece, logits);
    runRowGradient(gpu, {
      layout: logitsLayout(columns, false),
      columns,
      rows: tokens,
      firstRow: 0,
      firstColumn: first,
      temperature,
      buffers: [logits, targets, coefficients],
    });
    matmul(gpu, {
      a: { buffer: logits, transposed: false },
      b: { buffer: piece.slice(weight), transposed: true },
      out: dHidden,
      rows: tokens,
      columns: width,
      inner: columns,
      accumulate: first > 0,
    });
    matmul(gpu, {
      a: { buffer: logits, transposed: true },
      b: { buffer: hidden, transposed: true },
      out: piece.slice(dWeight),
      rows: columns,
      columns: width,
      inner: tokens,
    });
  }
  gpu.release(coefficients);
  gpu.release(logits);
  return [dHidden, dWeight];
}

/** Logits of a piece, [tokens, columns] densely. */
function product(gpu: Gpu, hidden: tf.TensorInfo, weight: tf.TensorInfo, piece: Piece, logits: tf.TensorInfo): void {
  const [rows, inner] = hidden.shape as [number, number];
  matmul(gpu, {
    a: { buffer: hidden, transposed: false },
    b: { buffer: piece.slice(weight), transposed: false },
    out: logits,
    rows,
    columns: piece.columns,
    inner,
  });
}
