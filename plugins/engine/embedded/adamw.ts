import * as tf from "@tensorflow/tfjs";
import { NdArray, VerlError, type EngineState, type OptimConfig } from "verl";
import type { Weights } from "./decoder.ts";
import { readWeights } from "./weights.ts";

/** Gradients or moments, by weight name. */
export type ByWeight = Readonly<Record<string, tf.Tensor>>;

/** A step that has been computed and waits for its verdict. */
export interface ProposedStep {
  weights: Weights;
  moments: Moments;
  /** Global norm of the gradients before clipping. */
  gradNorm: tf.Scalar;
}

interface Moments {
  first: ByWeight;
  second: ByWeight;
}

/**
 * Learning rate of optimizer step `step` (from 0): linear warm-up from 0, then constant, or a cosine from `lr` down to `min_lr_ratio`.
 * As in verl, the first of several warm-up steps has learning rate 0.
 */
export function learningRate(optim: OptimConfig, step: number, totalSteps: number): number {
  const { lr, lr_warmup_steps: given, lr_warmup_steps_ratio: ratio, min_lr_ratio: floor, num_cycles: cycles } = optim;
  const warmup = given < 0 ? Math.floor(ratio * totalSteps) : given;
  if (step < warmup) return (lr * step) / warmup;
  if (optim.lr_scheduler_type === "constant") return lr;
  const progress = (step - warmup) / Math.max(1, totalSteps - warmup);
  const cosine = ((1 - floor) / 2) * Math.cos(2 * Math.PI * cycles * progress) + (1 + floor) / 2;
  return lr * Math.max(floor, cosine);
}

/**
 * AdamW (Loshchilov & Hutter 2019) with the gradient's global norm clipped first. Weight decay is decoupled and applies to matrices only.
 * Steps are computed as new tensors and adopted or dropped as a whole, so a bad step leaves no trace.
 */
export class AdamW {
  private moments: Moments;
  /** Steps applied. */
  private applied = 0;
  /** Steps of the schedule gone by, the skipped ones included. */
  private scheduled = 0;

  constructor(
    private readonly optim: OptimConfig,
    private readonly totalSteps: number,
    weights: Weights,
  ) {
    const zeros = () =>
      Object.fromEntries(
        Object.entries(weights).map(([name, { shape, size }]) => [
          name,
          tf.keep(tf.tensor(new Float32Array(size), shape)),
        ]),
      );
    this.moments = { first: zeros(), second: zeros() };
  }

  get lr(): number {
    return learningRate(this.optim, this.scheduled, this.totalSteps);
  }

  /** One recorded graph: norm, clip, moments, new weights. Nothing is changed yet. */
  propose(weights: Weights, gradients: ByWeight): ProposedStep {
    const { betas, eps, weight_decay: decay, clip_grad: clip } = this.optim;
    const [beta1, beta2] = betas;
    const step = this.applied + 1;
    return tf.tidy(() => {
      const squares = Object.values(gradients).map((gradient) => tf.sum(tf.square(gradient)));
      const gradNorm = tf.sqrt(tf.addN(squares)) as tf.Scalar;
      const clipScale = tf.minimum(tf.div(clip, tf.add(gradNorm, 1e-6)), 1);
      // What changes from step to step goes in as scalars, so that every step is the same graph.
      const rate = tf.scalar(this.lr / (1 - beta1 ** step));
      const keepShare = tf.scalar(1 - this.lr * decay);
      const secondBias = tf.scalar(1 / Math.sqrt(1 - beta2 ** step));
      const [next, first, second] = [{}, {}, {}] as Record<string, tf.Tensor>[];
      for (const [name, weight] of Object.entries(weights)) {
        const gradient = tf.mul(gradients[name]!, clipScale);
        const m = tf.add(tf.mul(this.moments.first[name]!, beta1), tf.mul(gradient, 1 - beta1));
        const v = tf.add(tf.mul(this.moments.second[name]!, beta2), tf.mul(tf.square(gradient), 1 - beta2));
        const update = tf.div(tf.mul(m, rate), tf.add(tf.mul(tf.sqrt(v), secondBias), eps));
        const decayed = weight.rank > 1 && decay > 0 ? tf.mul(weight, keepShare) : weight;
        [next![name], first![name], second![name]] = [tf.sub(decayed, update), m, v];
      }
      for (const tensors of [next!, first!, second!]) Object.values(tensors).forEach((tensor) => tf.keep(tensor));
      return { weights: next!, moments: { first: first!, second: second! }, gradNorm: tf.keep(gradNorm) };
    });
  }

  /** Adopts the proposed moments; the caller adopts the weights. */
  accept({ moments }: ProposedStep): void {
    tf.dispose([this.moments.first, this.moments.second]);
    this.moments = moments;
    this.applied += 1;
    this.scheduled += 1;
  }

  /** Drops a proposed step; the schedule moves on. */
  reject({ weights, moments }: ProposedStep): void {
    tf.dispose([weights, moments.first, moments.second]);
    this.scheduled += 1;
  }

  async saveState(state: EngineState): Promise<void> {
    for (const part of ["first", "second"] as const) {
      for (const [name, array] of await readWeights(this.moments[part]))
        state.arrays.set(`optimizer.${part}.${name}`, array);
    }
    state.json["optimizer"] = { applied: this.applied, scheduled: this.scheduled };
  }

  loadState(state: EngineState): void {
    const steps = state.json["optimizer"] as { applied?: unknown; scheduled?: unknown } | undefined;
    if (!Number.isSafeInteger(steps?.applied) || !Number.isSafeInteger(steps?.scheduled)) {
      throw unfit("it has no step counts of an optimizer");
    }
    const load = (part: keyof Moments) =>
      Object.entries(this.moments[part]).map(([name, { shape }]) => {
        const array = state.arrays.get(`optimizer.${part}.${name}`);
        if (!(array instanceof NdArray) || array.dtype !== "float32" || array.shape.join() !== shape.join()) {
          throw unfit(`it has no float32 moment of shape [${shape.join(", ")}] for "${name}"`);
        }
        return [name, shape, array.data as Float32Array] as const;
      });
    const [first, second] = [load("first"), load("second")];
    const put = (arrays: typeof first) =>
      Object.fromEntries(arrays.map(([name, shape, data]) => [name, tf.keep(tf.tensor(data.slice(), [...shape]))]));
    this.dispose();
    this.moments = { first: put(first), second: put(second) };
    this.applied = steps!.applied as number;
    this.scheduled = steps!.scheduled as number;
  }

  dispose(): void {
    tf.dispose([this.moments.first, this.moments.second]);
  }
}

function unfit(problem: string): VerlError {
  return new VerlError("VERL_ENGINE_STATE", `The saved optimizer state does not fit this model: ${problem}.`, {
    hint: "Resume with the model and config that the checkpoint was written with.",
  });
}
