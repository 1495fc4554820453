import * as tf from "@tensorflow/tfjs";
import type { NdArray } from "verl";
import {
  inject,
  LOGGER,
  RNG,
  ROLE_CONFIG,
  VerlError,
  type DataProto,
  type EngineState,
  type ForwardOptions,
  type ForwardOutput,
  type Logger,
  type Rng,
  type RoleConfig,
  type StepResult,
  type SumOverRanks,
  type TokenLoss,
  type TrainingEngine,
  type WeightMap,
} from "verl";
import { AdamW, type ByWeight } from "./adamw.ts";
import { MicroBatch } from "./micro-batch.ts";
import { loadModelConfig } from "./model-config.ts";
import { loadWeights, saveModelFolder } from "./model-folder.ts";
import { computeOutputs, lossWith, misuse, type Decoder } from "./micro-loss.ts";
import { matricesOf, nameNotFinite } from "./not-finite.ts";
import { Rotary } from "./rotary.ts";
import { summedGradients } from "./summed-gradients.ts";
import { randomWeights, readWeights, weightTensors } from "./weights.ts";

interface Model extends Decoder {
  /** Absent for models that are never trained. */
  optimizer: AdamW | undefined;
}

/**
 * Trains a decoder on the chosen tfjs backend, differentiating straight through the loss. Weights are immutable tensors that each step
 * replaces. A micro-batch is one recorded graph and so is an optimizer step. The model is read on the first call.
 */
export class EmbeddedEngine implements TrainingEngine {
  readonly gradientContract = "autodiff";
  private loading: Promise<Model> | undefined;
  private gradients: ByWeight | undefined;

  constructor(
    @inject(ROLE_CONFIG) private readonly role: RoleConfig,
    @inject(RNG) private readonly rng: Rng,
    @inject(LOGGER) private readonly log: Logger,
  ) {}

  async forward(batch: DataProto, { temperature, outputs = ["log_probs"] }: ForwardOptions): Promise<ForwardOutput> {
    const model = await this.model();
    const micro = new MicroBatch(batch, model.config);
    model.rotary.reach(micro.lastPosition);
    const computed = tf.tidy(() => computeOutputs(model, model.weights, micro, outputs, temperature));
    try {
      const read = await Promise.all(
        outputs.map(async (name) => {
          const tensor = computed[name]!;
          return [name, micro.unpad((await tensor.data()) as Float32Array, tensor.shape[2])] as const;
        }),
      );
      return Object.fromEntries(read);
    } finally {
      tf.dispose(computed);
    }
  }

  async forwardBackward(
    batch: DataProto,
    loss: TokenLoss,
    { temperature }: { temperature: number },
  ): Promise<{ loss: number; metrics: Record<string, number> }> {
    const model = await this.model();
    const micro = new MicroBatch(batch, model.config);
    model.rotary.reach(micro.lastPosition);
    const { scalars, metricNames, accumulated } = this.recordStep(model, micro, loss, temperature);
    const [value, ...metrics] = await scalars.data();
    scalars.dispose();
    const share = { loss: value!, metrics: Object.fromEntries(metricNames.map((name, i) => [name, metrics[i]!])) };
    if (!Number.isFinite(value)) {
      tf.dispose(accumulated);
      throw await this.notFinite(batch, loss, temperature, share, () =>
        lossWith(model.weights, model, micro, loss, temperature),
      );
    }
    tf.dispose(this.gradients ?? []);
    this.gradients = accumulated;
    return share;
  }

  async optimStep(sumOverRanks?: SumOverRanks): Promise<StepResult> {
    const model = await this.model();
    const { optimizer } = model;
    if (!optimizer) throw misuse(`The ${this.role.role} model has no optimizer section, so it cannot be trained`);
    if (sumOverRanks) this.gradients = await summedGradients(model.weights, this.gradients, sumOverRanks);
    if (!this.gradients) throw misuse("optimStep was called before any forwardBackward");
    const { lr } = optimizer;
    const step = optimizer.propose(model.weights, this.gradients);
    const [gradNorm] = await step.gradNorm.data();
    tf.dispose([step.gradNorm, this.gradients]);
    this.gradients = undefined;
    const skipped = !Number.isFinite(gradNorm);
    if (skipped) {
      optimizer.reject(step);
      this.log.warn(`The gradient norm is ${gradNorm}; the optimizer step was skipped.`, { role: this.role.role });
    } else {
      optimizer.accept(step);
      tf.dispose(model.weights);
      model.weights = step.weights;
    }
    return { gradNorm: gradNorm!, lr, skipped };
  }

  async saveState(): Promise<EngineState> {
    if (this.gradients) throw misuse("The state can only be saved between optimizer steps, and gradients are waiting");
    const { weights, optimizer } = await this.model();
    const state: EngineState = { arrays: new Map(), json: {} };
    for (const [name, array] of await readWeights(weights)) state.arrays.set(`model.${name}`, array);
    await optimizer?.saveState(state);
    return state;
  }

  async loadState(state: EngineState): Promise<void> {
    this.loading ??= this.load({ resumed: true });
    const model = await this.loading;
    const prefix = "model.";
    const stored = [...state.arrays].filter(([name]) => name.startsWith(prefix));
    const weights = weightTensors(
      model.config,
      new Map(stored.map(([name, array]) => [name.slice(prefix.length), array])),
      "a checkpoint",
    );
    try {
      model.optimizer?.loadState(state);
    } catch (error) {
      tf.dispose(weights);
      throw error;
    }
    tf.dispose([model.weights, this.gradients ?? []]);
    model.weights = weights;
    this.gradients = undefined;
  }

  async exportWeights(): Promise<WeightMap> {
    return readWeights((await this.model()).weights);
  }

  /** Writes the model as a Hugging Face folder with the tokenizer's files beside it. */
  async savePretrained(folder: string): Promise<void> {
    const { config } = await this.model();
    await saveModelFolder(folder, config, await this.exportWeights(), this.role.model.path);
  }

  dispose(): void {
    // A model that failed to load has nothing to give back; whoever asked for it has the error.
    void this.loading?.then(
      ({ weights, rotary, optimizer }) => {
        tf.dispose([weights, this.gradients ?? []]);
        rotary.dispose();
        optimizer?.dispose();
      },
      () => undefined,
    );
    this.loading = undefined;
  }

  private model(): Promise<Model> {
    this.loading ??= this.load();
    return this.loading;
  }

  /** @param resumed the weights are replaced at once by a checkpoint's. */
  private async load({ resumed = false } = {}): Promise<Model> {
    const { role } = this.role;
    const { path } = this.role.model;
    const config = await loadModelConfig(this.role);
    const stored = await loadWeights(path);
    if (!stored && !resumed) {
      const who = role === "sft" ? "model" : role;
      this.log.info(`${path} has no model.safetensors: the ${who} starts from random weights.`);
    }
    // Named alike for every role, so that a reference or critic starts from the same weights as the actor.
    const weights = weightTensors(
      config,
      stored ?? randomWeights(config, this.rng.stream("weights")),
      stored ? path : "random init",
    );
    const optimizer = this.role.optim && new AdamW(this.role.optim, this.role.total_training_steps ?? 0, weights);
    return { config, rotary: new Rotary(config), weights, optimizer };
  }

  /** Records forward, loss and backward. `scalars` holds the loss and the metrics, so that one read gets them all. */
  private recordStep(model: Model, micro: MicroBatch, loss: TokenLoss, temperature: number) {
    const names = Object.keys(model.weights);
    let metricNames: string[] = [];
    let scalars: tf.Tensor | undefined;
    try {
      const accumulated = tf.tidy(() => {
        const lossOf = (...tensors: tf.Tensor[]): tf.Scalar => {
          const weights = Object.fromEntries(names.map((name, i) => [name, tensors[i]!]));
          const result = lossWith(weights, model, micro, loss, temperature);
          metricNames = Object.keys(result.metrics);
          scalars = tf.keep(tf.stack([result.loss, ...Object.values(result.metrics)]));
          return result.loss;
        };
        const { grads } = tf.valueAndGrads(lossOf)(Object.values(model.weights));
        const added = names.map((name, i) => {
          const old = this.gradients?.[name];
          return [name, tf.keep(old ? tf.add(old, grads[i]!) : grads[i]!)] as const;
        });
        return Object.fromEntries(added);
      });
      return { scalars: scalars!, metricNames, accumulated };
    } catch (cause) {
      scalars?.dispose();
      if (!String(cause).includes("gradient of y=f(x) with respect to x")) throw cause;
      throw new VerlError(
        "VERL_ENGINE_LOSS_CONSTANT",
        "The loss does not depend on the model, so there is nothing to train.",
        {
          hint: `Compute it from ${loss.outputs.join(", ")} by tfjs operations, without reading values out in between.`,
          cause,
        },
      );
    }
  }

  /** @param again makes the loss once more. */
  private async notFinite(
    batch: DataProto,
    { outputs, fields }: TokenLoss,
    temperature: number,
    share: { loss: number; metrics: Record<string, number> },
    again: () => unknown,
  ): Promise<VerlError> {
    const given = fields.map((name) => [name, batch.batch.get(name)] as const);
    const inputs: Record<string, NdArray> = {
      ...(await this.forward(batch, { temperature, outputs })),
      ...Object.fromEntries(given),
    };
    const mask = batch.batch.has("response_mask") ? batch.batch.get("response_mask") : undefined;
    const suspects = Object.entries(inputs).map(([name, values]) => [name, values, mask] as const);
    return nameNotFinite(share, [...suspects, ...(await matricesOf(again))]);
  }
}
