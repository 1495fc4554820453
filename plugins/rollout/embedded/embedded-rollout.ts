import * as tf from "@tensorflow/tfjs";
import {
  inject,
  ROLE_CONFIG,
  TOKENIZER,
  VerlError,
  type Generation,
  type RoleConfig,
  type RolloutEngine,
  type SamplingParams,
  type Tokenizer,
  type WeightMap,
} from "verl";
import type { Weights } from "../../engine/embedded/decoder.ts";
import { loadModelConfig, type ModelConfig } from "../../engine/embedded/model-config.ts";
import { loadWeights } from "../../engine/embedded/model-folder.ts";
import { Rotary } from "../../engine/embedded/rotary.ts";
import { weightTensors } from "../../engine/embedded/weights.ts";
import { generateBatch } from "./generate-batch.ts";
import { Request } from "./request.ts";

/** verl's own default of `rollout.max_num_seqs`. */
const MAX_NUM_SEQS = 256;

/** Weights in use: new ones may come while answers are under way, which finish with the old. */
interface LoadedWeights {
  tensors: Weights;
  version: number;
  users: number;
}

interface Waiting {
  request: Request;
  signal: AbortSignal | undefined;
  /** Set by `abort`: the request ends before its next chunk. */
  abandoned: boolean;
  resolve: (generation: Generation) => void;
  reject: (error: unknown) => void;
}

/**
 * Samples from a decoder in this process. Requests made in the same tick are one batch, `max_num_seqs` at a time; requests with the
 * same prompt share its reading. Weights come by `updateWeights`; until then those of the model folder serve, if it has any.
 */
export class EmbeddedRollout implements RolloutEngine {
  weightVersion = 0;
  vocabSize: number | undefined;
  private loading: Promise<{ config: ModelConfig; rotary: Rotary }> | undefined;
  private weights: LoadedWeights | undefined;
  private waiting: Waiting[] = [];
  private readonly running = new Set<Waiting>();
  /** Settles when the batches under way have ended. */
  private idle: Promise<void> = Promise.resolve();
  private pumpScheduled = false;
  /** What was given back by `sleep`; requests wait while there is anything. */
  private readonly asleep = new Set<string>();

  constructor(
    @inject(ROLE_CONFIG) private readonly role: RoleConfig,
    @inject(TOKENIZER) private readonly tokenizer: Pick<Tokenizer, "eosTokenId">,
  ) {}

  async generate(
    prompt: Int32Array,
    sampling: SamplingParams,
    { signal }: { signal?: AbortSignal } = {},
  ): Promise<Generation> {
    const { config } = await this.model();
    const request = new Request(prompt, sampling, this.tokenizer.eosTokenId, config);
    return new Promise((resolve, reject) => {
      this.waiting.push({ request, signal, resolve, reject, abandoned: false });
      this.pumpSoon();
    });
  }

  async updateWeights(given: WeightMap): Promise<void> {
    const { config } = await this.model();
    this.use(weightTensors(config, given, "updateWeights"), this.weightVersion + 1);
  }

  /**
   * Returns once the answers under way are complete and their caches of keys and values are gone; further requests wait until all tags
   * are woken. `weights` go with the tables that belong to them, and must come again by `updateWeights`.
   */
  async sleep(tags: readonly string[]): Promise<void> {
    for (const tag of tags) this.asleep.add(tag);
    await this.idle;
    if (!this.asleep.has("weights")) return;
    this.use(undefined, this.weightVersion);
    (await this.loading)?.rotary.dispose();
  }

  wake(tags: readonly string[]): Promise<void> {
    for (const tag of tags) this.asleep.delete(tag);
    this.pumpSoon();
    return Promise.resolve();
  }

  async abort(): Promise<void> {
    for (const { request, resolve } of this.waiting.splice(0)) resolve(request.generation(this.weightVersion));
    for (const waiting of this.running) waiting.abandoned = true;
    await this.idle;
  }

  dispose(): void {
    const { loading } = this;
    this.loading = undefined;
    void this.abort().then(() => this.use(undefined, this.weightVersion));
    // A model that failed to load has nothing to give back; whoever asked for it has the error.
    void Promise.all([loading, this.idle]).then(
      ([model]) => model?.rotary.dispose(),
      () => undefined,
    );
  }

  private pumpSoon(): void {
    if (this.pumpScheduled) return;
    this.pumpScheduled = true;
    // After every microtask of this tick, so that all agent loops that ask now are in one batch.
    setImmediate(() => {
      this.pumpScheduled = false;
      this.pump();
    });
  }

  /** Starts as many full batches as there is room for. */
  private pump(): void {
    const limit = this.role.max_num_seqs ?? MAX_NUM_SEQS;
    while (this.asleep.size === 0 && this.waiting.length > 0) {
      const size = Math.min(this.waiting.length, limit);
      if (this.running.size + size > limit) return;
      const batch = this.waiting.splice(0, size);
      for (const waiting of batch) this.running.add(waiting);
      this.idle = Promise.all([this.idle, this.run(batch)]).then(() => undefined);
    }
  }

  private async run(batch: readonly Waiting[]): Promise<void> {
    const of = new Map(batch.map((waiting) => [waiting.request, waiting]));
    let weights: LoadedWeights | undefined;
    try {
      const { config, rotary } = await this.model();
      weights = await this.borrowWeights();
      const { tensors, version } = weights;
      rotary.reach(Math.max(...batch.map(({ request }) => request.prompt.length + request.sampling.max_tokens)));
      await generateBatch(
        { config, rotary, weights: tensors },
        [...of.keys()],
        (request) => of.get(request)!.abandoned || of.get(request)!.signal?.aborted === true,
        (request) => of.get(request)!.resolve(request.generation(version)),
      );
    } catch (error) {
      // Those that were answered before keep their answer.
      for (const { reject } of batch) reject(error);
    } finally {
      release(weights);
      for (const waiting of batch) this.running.delete(waiting);
      this.pumpSoon();
    }
  }

  private async borrowWeights(): Promise<LoadedWeights> {
    if (!this.weights) {
      const { config } = await this.model();
      // Once weights were sent, those of the folder are out of date.
      const stored = this.weightVersion === 0 ? await loadWeights(this.role.model.path) : undefined;
      if (!stored) {
        throw new VerlError("VERL_ROLLOUT_REQUEST", "The rollout engine has no weights to sample from.", {
          hint:
            this.weightVersion === 0
              ? `Send them by updateWeights, or put model.safetensors into ${this.role.model.path}.`
              : "They were given back by sleep; send them again by updateWeights.",
        });
      }
      this.use(weightTensors(config, stored, this.role.model.path), this.weightVersion);
    }
    const weights = this.weights!;
    weights.users += 1;
    return weights;
  }

  /** Makes new requests use these weights; the old ones go when their last answer is complete. */
  private use(tensors: Weights | undefined, version: number): void {
    release(this.weights);
    this.weights = tensors && { tensors, version, users: 1 };
    this.weightVersion = version;
  }

  private model(): Promise<{ config: ModelConfig; rotary: Rotary }> {
    this.loading ??= loadModelConfig(this.role).then((config) => {
      this.vocabSize = config.vocabSize;
      return { config, rotary: new Rotary(config) };
    });
    return this.loading;
  }
}

function release(weights: LoadedWeights | undefined): void {
  if (!weights) return;
  weights.users -= 1;
  if (weights.users === 0) tf.dispose(weights.tensors);
}
