import type { LinearLogProbAttrs } from "verl";
import type { HostArray, HostKernel } from "./host-kernel.ts";
import { listed, rowOutputs } from "./log-prob-entropy.ts";
import { rowProducts, transposed } from "./product.ts";
import { rowSlope, writeRowGradient, type RowGradientInputs } from "./row-gradient.ts";
import { concludeRow, emptySums, foldLogits } from "./row-statistics.ts";

/** Logits that exist at once, where the caller has no wish: 1 MiB, which a core's own cache holds. */
const PIECE_ELEMENTS = 2 ** 18;

interface Inputs {
  /** [tokens, width]. */
  readonly hidden: HostArray;
  /** [vocabulary, width]. */
  readonly weight: HostArray;
  /** [tokens]. */
  readonly targets: HostArray<Int32Array>;
}

/** Log-prob, entropy, log-sum-exp, Σπ² and normaliser of softmax(hidden · weightᵀ / temperature), a piece of the vocabulary at a time. */
export const linearLogProbEntropy: HostKernel<Inputs, LinearLogProbAttrs> = (inputs, attrs, room) => {
  const { values: targets } = inputs.targets;
  const scale = 1 / attrs.temperature;
  const sums = Array.from(targets, emptySums);
  const chosen = new Float32Array(targets.length).fill(NaN);
  forEachPiece(inputs, attrs, ({ logits, first, columns }) => {
    sums.forEach((own, row) => {
      const start = row * columns;
      foldLogits(own, logits, start, start + columns, scale);
      const target = targets[row]! - first;
      if (target >= 0 && target < columns) chosen[row] = logits[start + target]!;
    });
  });
  const outputs = rowOutputs(targets.length, room);
  sums.forEach((own, row) => concludeRow(outputs, row, own, chosen[row]!, scale));
  return listed(outputs);
};

/** Gradients of hidden states and weights. Logits are made again, a piece at a time, and their gradients take their place. */
export const linearLogProbEntropyGradient: HostKernel<Inputs & RowGradientInputs, LinearLogProbAttrs> = (
  inputs,
  attrs,
  room,
) => {
  const { hidden, weight } = inputs;
  const { values: targets } = inputs.targets;
  const tokens = targets.length;
  const width = hidden.shape[1]!;
  const scale = 1 / attrs.temperature;
  const slopes = Array.from(targets, (_, row) => rowSlope(inputs, row, scale));
  const dHidden = new Float64Array(tokens * width);
  const added = new Float64Array(tokens * width);
  const dWeight = room(weight.values.length);
  const hiddenColumns = transposed(hidden.values, width, new Float32Array(tokens * width));
  let [weightRoom, logitsRoom] = [new Float32Array(), new Float32Array()];
  forEachPiece(inputs, attrs, ({ logits, part, first, columns }) => {
    if (first === 0) [weightRoom, logitsRoom] = [new Float32Array(part.length), new Float32Array(logits.length)];
    slopes.forEach((slope, row) => {
      const start = row * columns;
      const target = targets[row]! - first;
      const at = target >= 0 && target < columns ? start + target : -1;
      writeRowGradient(logits, logits, start, start + columns, at, slope, scale);
    });
    rowProducts(added, logits, transposed(part, width, weightRoom), columns);
    for (let i = 0; i < added.length; i++) dHidden[i]! += added[i]!;
    const own = dWeight.subarray(first * width, (first + columns) * width);
    rowProducts(own, transposed(logits, columns, logitsRoom), hiddenColumns, tokens);
  });
  const gradient = room(dHidden.length);
  gradient.set(dHidden);
  return [
    { values: gradient, shape: hidden.shape },
    { values: dWeight, shape: weight.shape },
  ];
};

interface Piece {
  /** Tokens × columns. */
  readonly logits: Float32Array;
  /** Columns × width. */
  readonly part: Float32Array;
  /** First entry of the vocabulary. */
  readonly first: number;
  readonly columns: number;
}

/** Makes the logits piece by piece, the first piece being the largest, all in one array. */
function forEachPiece(
  { hidden, weight }: Inputs,
  { pieceElements }: LinearLogProbAttrs,
  use: (piece: Piece) => void,
): void {
  const [tokens, width] = hidden.shape as [number, number];
  const vocabulary = weight.shape[0]!;
  const most = Math.min(vocabulary, Math.max(1, Math.floor((pieceElements || PIECE_ELEMENTS) / tokens)));
  const room = new Float32Array(tokens * most);
  for (let first = 0; first < vocabulary; first += most) {
    const columns = Math.min(most, vocabulary - first);
    const part = weight.values.subarray(first * width, (first + columns) * width);
    const logits = room.subarray(0, tokens * columns);
    rowProducts(logits, hidden.values, part, width);
    use({ logits, part, first, columns });
  }
}
