import type { DataProto } from "../../batch/data-proto.ts";
import type { PpoConfig } from "../../config/index.ts";
import { register } from "../../controller/register.ts";
import type { WorkerContext } from "../../controller/worker.ts";
import type { RewardManager, SampleReward } from "../../reward/reward-manager.ts";
import { inNameOf } from "../../registry/index.ts";
import { scoreBatch } from "../../reward/score-batch.ts";
import { openPpoSite, type PpoSite, type SiteOptions } from "../run-site.ts";
import { RunWorker, type RunWorkerOptions } from "./run-worker.ts";

/** Scores answers with the reward manager of the config. */
export class RewardWorker extends RunWorker<PpoConfig, PpoSite> {
  static override readonly module: string = "verl";

  private manager: Promise<RewardManager> | undefined;

  constructor(context: WorkerContext, options: RunWorkerOptions<PpoConfig>) {
    super(context, options);
  }

  /** Makes the manager and returns when it is ready. */
  @register({ dispatchMode: "ONE_TO_ALL", blocking: false })
  async load(): Promise<void> {
    await this.loaded();
  }

  /** One result a row of this rank's share, padding rows included. */
  @register({ dispatchMode: "DP_COMPUTE_METRIC" })
  async computeRewards(
    batch: DataProto,
    options: { validate: boolean; signal?: AbortSignal },
  ): Promise<SampleReward[]> {
    const manager = await this.loaded();
    return inNameOf("reward_manager", this.config.reward_model.reward_manager, () =>
      scoreBatch(manager, batch, options),
    );
  }

  override async dispose(): Promise<void> {
    await super.dispose();
    const manager = await this.manager?.catch(() => undefined);
    await manager?.dispose?.();
  }

  protected override openSite(config: PpoConfig, options: SiteOptions): Promise<PpoSite> {
    return openPpoSite(config, options);
  }

  private loaded(): Promise<RewardManager> {
    return (this.manager ??= this.create());
  }

  private async create(): Promise<RewardManager> {
    const { container } = await this.site();
    const { reward_manager, reward_kwargs } = this.config.reward_model;
    const manager = container.create("reward_manager", reward_manager, { options: reward_kwargs });
    try {
      await inNameOf("reward_manager", reward_manager, () => manager.load?.());
    } catch (error) {
      await manager.dispose?.();
      throw error;
    }
    return manager;
  }
}
