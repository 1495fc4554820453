import type { NdArray } from "../../../core/batch/nd-array.ts";

/* A slow decoder in float64, written from the formulas and sharing nothing with the engine but the names of the weights. */

export interface ReferenceSizes {
  numLayers: number;
  numHeads: number;
  numKeyValueHeads: number;
  headDim: number;
  rmsNormEps: number;
  ropeTheta: number;
  tieWordEmbeddings: boolean;
}

type Matrix = number[][];
type Source = ReadonlyMap<string, NdArray>;

/** Hidden states after the final norm, one row a token, for one sequence without padding. */
export function referenceHidden(weights: Source, sizes: ReferenceSizes, ids: readonly number[]): Matrix {
  const matrix = (name: string): Matrix => {
    const { shape, data } = weights.get(name)!;
    const [rows, columns] = shape.length === 1 ? [1, shape[0]!] : [shape[0]!, shape[1]!];
    return Array.from({ length: rows }, (_, r) =>
      Array.from({ length: columns }, (_, c) => Number(data[r * columns + c])),
    );
  };
  const embedding = matrix("model.embed_tokens.weight");
  let x = ids.map((id) => [...embedding[id]!]);
  for (let layer = 0; layer < sizes.numLayers; layer += 1) {
    const w = (name: string) => matrix(`model.layers.${layer}.${name}.weight`);
    const h = norm(x, w("input_layernorm")[0]!, sizes.rmsNormEps);
    const q = multiply(h, w("self_attn.q_proj"));
    const k = multiply(h, w("self_attn.k_proj"));
    const v = multiply(h, w("self_attn.v_proj"));
    const mixed = ids.map((_, t) =>
      Array.from({ length: sizes.numHeads }, (_, head) => attend(q, k, v, t, head, sizes)).flat(),
    );
    x = sum(x, multiply(mixed, w("self_attn.o_proj")));
    const g = norm(x, w("post_attention_layernorm")[0]!, sizes.rmsNormEps);
    const gate = multiply(g, w("mlp.gate_proj"));
    const up = multiply(g, w("mlp.up_proj"));
    const gated = gate.map((row, t) => row.map((value, j) => (value / (1 + Math.exp(-value))) * up[t]![j]!));
    x = sum(x, multiply(gated, w("mlp.down_proj")));
  }
  return norm(x, matrix("model.norm.weight")[0]!, sizes.rmsNormEps);
}

/** log softmax(logits / temperature), one row a token. */
export function referenceLogProbs(
  weights: Source,
  sizes: ReferenceSizes,
  ids: readonly number[],
  temperature: number,
): Matrix {
  const { shape, data } = weights.get(sizes.tieWordEmbeddings ? "model.embed_tokens.weight" : "lm_head.weight")!;
  const head = Array.from({ length: shape[0]! }, (_, r) =>
    Array.from({ length: shape[1]! }, (_, c) => Number(data[r * shape[1]! + c])),
  );
  return multiply(referenceHidden(weights, sizes, ids), head).map((row) => {
    const z = row.map((value) => value / temperature);
    const max = Math.max(...z);
    const normaliser = max + Math.log(z.reduce((total, value) => total + Math.exp(value - max), 0));
    return z.map((value) => value - normaliser);
  });
}

export const entropyOf = (logProbs: readonly number[]) =>
  -logProbs.reduce((total, value) => total + Math.exp(value) * value, 0);
export const sumPiSquaredOf = (logProbs: readonly number[]) =>
  logProbs.reduce((total, value) => total + Math.exp(2 * value), 0);

function attend(q: Matrix, k: Matrix, v: Matrix, t: number, head: number, sizes: ReferenceSizes): number[] {
  const { headDim, numHeads, numKeyValueHeads, ropeTheta } = sizes;
  const keyHead = Math.floor(head / (numHeads / numKeyValueHeads));
  const part = (row: number[], index: number) => row.slice(index * headDim, (index + 1) * headDim);
  const query = rope(part(q[t]!, head), t, ropeTheta);
  const scores = Array.from({ length: t + 1 }, (_, s) => {
    const key = rope(part(k[s]!, keyHead), s, ropeTheta);
    return query.reduce((total, value, i) => total + value * key[i]!, 0) / Math.sqrt(headDim);
  });
  const max = Math.max(...scores);
  const mass = scores.reduce((total, score) => total + Math.exp(score - max), 0);
  return Array.from({ length: headDim }, (_, i) =>
    scores.reduce((total, score, s) => total + (Math.exp(score - max) / mass) * part(v[s]!, keyHead)[i]!, 0),
  );
}

/** Llama pairs dimension i with i + headDim/2. */
function rope(x: number[], position: number, theta: number): number[] {
  const half = x.length / 2;
  return x.map((value, i) => {
    const angle = position * theta ** (-(i % half) / half);
    const partner = i < half ? -x[i + half]! : x[i - half]!;
    return value * Math.cos(angle) + partner * Math.sin(angle);
  });
}

function norm(x: Matrix, gain: number[], eps: number): Matrix {
  return x.map((row) => {
    const scale = 1 / Math.sqrt(row.reduce((total, value) => total + value * value, 0) / row.length + eps);
    return row.map((value, i) => value * scale * gain[i]!);
  });
}

/** x · wᵀ */
function multiply(x: Matrix, w: Matrix): Matrix {
  return x.map((row) => w.map((column) => row.reduce((total, value, i) => total + value * column[i]!, 0)));
}

function sum(a: Matrix, b: Matrix): Matrix {
  return a.map((row, t) => row.map((value, i) => value + b[t]![i]!));
}
