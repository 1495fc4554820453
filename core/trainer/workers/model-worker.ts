import type { PpoConfig, SftConfig } from "../../config/index.ts";
import { register } from "../../controller/register.ts";
import type { EngineState, TrainingEngine, WeightMap } from "../../engine/training-engine.ts";
import { VerlError } from "../../errors/index.ts";
import type { RoleConfig } from "../../engine/role-config.ts";
import { ROLE_CONFIG } from "../../registry/index.ts";
import type { RunSite } from "../run-site.ts";
import { RunWorker } from "./run-worker.ts";

/** Batch fields that an engine reads. */
export const MODEL_FIELDS: readonly string[] = ["input_ids", "attention_mask", "position_ids", "responses"];

/** A worker that holds one training engine; its state and weights can be fetched and replaced. */
export abstract class ModelWorker<C extends PpoConfig | SftConfig, S extends RunSite> extends RunWorker<C, S> {
  private held: TrainingEngine | undefined;

  /** Makes the model; the first call of every group. */
  @register({ dispatchMode: "ONE_TO_ALL" })
  async initModel(): Promise<void> {
    await this.activateBackend();
    const site = await this.site();
    const choice = this.engineChoice();
    if (!choice) return;
    const { key, role } = choice;
    this.held = site.container.create("engine", key, { values: { [ROLE_CONFIG]: role } });
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

  override dispose(): void | Promise<void> {
    this.held?.dispose();
    return super.dispose();
  }

  /** Key of the engine, and what it is told of its role; undefined for a worker that has none. */
  protected abstract engineChoice(): { key: string; role: RoleConfig } | undefined;

  protected get engine(): TrainingEngine {
    if (this.held) return this.held;
    throw new VerlError("VERL_INTERNAL", "A worker was used before initModel.");
  }
}
