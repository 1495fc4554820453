import { register } from "../../controller/register.ts";
import { Worker, type WorkerContext } from "../../controller/worker.ts";
import type { EngineState, TrainingEngine, WeightMap } from "../../engine/training-engine.ts";

/** Batch fields that an engine reads. */
export const MODEL_FIELDS: readonly string[] = ["input_ids", "attention_mask", "position_ids", "responses"];

/** A worker that holds one training engine; its state and weights can be fetched and replaced. */
export abstract class ModelWorker extends Worker {
  constructor(
    context: WorkerContext,
    protected readonly engine: TrainingEngine,
  ) {
    super(context);
  }

  /** The first rank's state; all ranks hold the same. */
  @register({ dispatchMode: "RANK_ZERO" })
  async saveState(): Promise<EngineState> {
    return this.engine.saveState();
  }

  @register({ dispatchMode: "ONE_TO_ALL" })
  async loadState(state: EngineState): Promise<void> {
    await this.engine.loadState(state);
  }

  @register({ dispatchMode: "RANK_ZERO" })
  async exportWeights(): Promise<WeightMap> {
    return this.engine.exportWeights();
  }

  /** Writes a model folder in the Hugging Face layout. */
  @register({ dispatchMode: "RANK_ZERO" })
  async savePretrained(folder: string): Promise<void> {
    await this.engine.savePretrained(folder);
  }

  override dispose(): void {
    this.engine.dispose();
  }
}
