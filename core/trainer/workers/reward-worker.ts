import type { DataProto } from "../../batch/data-proto.ts";
import type { PpoConfig } from "../../config/index.ts";
import { register } from "../../controller/register.ts";
import { Worker, type WorkerContext } from "../../controller/worker.ts";
import type { RunContainer } from "../../registry/index.ts";
import type { RewardManager, SampleReward } from "../../reward/reward-manager.ts";
import { scoreBatch } from "../../reward/score-batch.ts";

/** Scores answers with the reward manager of the config. */
export class RewardWorker extends Worker {
  private readonly manager: RewardManager;
  private readonly loaded: Promise<void>;

  constructor(context: WorkerContext, config: PpoConfig, container: RunContainer) {
    super(context);
    const { reward_manager, reward_kwargs } = config.reward_model;
    this.manager = container.create("reward_manager", reward_manager, { options: reward_kwargs });
    // It loads while the models do; what it finds wrong is told by whoever waits for it.
    this.loaded = Promise.resolve(this.manager.load?.());
    this.loaded.catch(() => undefined);
  }

  /** Returns when the manager is ready. */
  @register({ dispatchMode: "ONE_TO_ALL" })
  load(): Promise<void> {
    return this.loaded;
  }

  /** One result a row of this rank's share, padding rows included. */
  @register({ dispatchMode: "DP_COMPUTE_METRIC" })
  async computeRewards(
    batch: DataProto,
    options: { validate: boolean; signal?: AbortSignal },
  ): Promise<SampleReward[]> {
    await this.loaded;
    return scoreBatch(this.manager, batch, options);
  }

  override async dispose(): Promise<void> {
    await this.manager.dispose?.();
  }
}
