import type { Scalar, Tensor, Tensor2D, Tensor3D } from "@tensorflow/tfjs";
import type { NdArray } from "../batch/nd-array.ts";
import type { DataProto } from "../batch/data-proto.ts";
import type { ClassEntry } from "../registry/entry.ts";

/**
 * What an engine does with d loss / d log_prob, so that the trainer can scale it rightly.
 * `autodiff`: differentiates straight through the loss function; `sum`: accumulates Σ g·∂log_prob/∂θ exactly.
 */
export type GradientContract = "autodiff" | "sum";

export interface ForwardOptions {
  /** Logits are divided by it before the softmax. */
  temperature: number;
  /** Fields to compute. Default: `log_probs` alone. */
  outputs?: readonly ("log_probs" | "log_softmax" | "entropy" | "sum_pi_squared" | "values")[];
}

/**
 * Model outputs for a batch with `input_ids`, `attention_mask`, `position_ids`, `responses`: each rows × response length; `log_softmax`,
 * the log-probs of all tokens and not of the response's alone, has the vocabulary as a third axis.
 */
export type ForwardOutput = Partial<
  Record<"log_probs" | "log_softmax" | "entropy" | "sum_pi_squared" | "values", NdArray<"float32">>
>;

/** Differentiable outputs that a token loss receives. */
export interface LossInputs {
  log_probs: Tensor2D;
  /** rows × response length × vocabulary. */
  log_softmax?: Tensor3D;
  entropy?: Tensor2D;
  values?: Tensor2D;
  /** Batch fields named in `TokenLoss.fields`: float32 whatever their dtype, [rows], [rows, response length] or [rows, response length, n], 0 on pad rows. */
  fields: Readonly<Record<string, Tensor>>;
}

/** A loss as an engine sees it: a function of per-token outputs, with the batch fields it reads named. */
export interface TokenLoss {
  readonly fields: readonly string[];
  readonly outputs: readonly ("log_probs" | "log_softmax" | "entropy" | "values")[];
  /** Structural identity: same key, same graph. Engines may cache what they compiled for it. */
  compute(inputs: LossInputs): { loss: Scalar; metrics: Record<string, Scalar> };
}

/** Replaces each element by its sum over the ranks, in the same order of addition on each; all bring the same length. */
export type SumOverRanks = (values: Float32Array) => Promise<void>;

export interface StepResult {
  /** Global norm before clipping. */
  gradNorm: number;
  lr: number;
  /** True when the step was not applied because gradients were not finite. */
  skipped: boolean;
}

/** Named weights in the Hugging Face layout (`model.layers.0.self_attn.q_proj.weight`, rows = outputs). */
export type WeightMap = ReadonlyMap<string, NdArray<"float32">>;

/** Opaque state with plain typed arrays and JSON, ready to be written by the checkpoint. */
export interface EngineState {
  arrays: Map<string, NdArray>;
  json: Record<string, unknown>;
}

/** Trains one model. Batches are what the trainer built; splitting to micro-batches is the caller's. */
export interface TrainingEngine {
  readonly gradientContract: GradientContract;
  forward(batch: DataProto, options: ForwardOptions): Promise<ForwardOutput>;
  /** Adds this micro-batch's gradient to the accumulated one. Metric shares of micro-batches sum to the step's. */
  forwardBackward(
    batch: DataProto,
    loss: TokenLoss,
    options: { temperature: number },
  ): Promise<{ loss: number; metrics: Record<string, number> }>;
  /**
   * Clips, applies AdamW at the scheduled learning rate, clears the accumulated gradient.
   * @param sumOverRanks given where other ranks train the same model on other rows: adds their gradients to the ones it is handed, in
   *   place, all weights in one array. A rank that had no rows hands over zeros. Every rank then takes the same step.
   */
  optimStep(sumOverRanks?: SumOverRanks): Promise<StepResult>;
  saveState(): Promise<EngineState>;
  loadState(state: EngineState): Promise<void>;
  exportWeights(): Promise<WeightMap>;
  /** Writes the model to a folder in the Hugging Face layout, tokenizer included, from which another run can start. */
  savePretrained(folder: string): Promise<void>;
  dispose(): void;
}

declare module "../registry/entry.ts" {
  interface EntryOf {
    engine: ClassEntry<TrainingEngine>;
  }
}
