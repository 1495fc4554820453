import type { DataProto } from "../../batch/data-proto.ts";
import type { PpoConfig } from "../../config/index.ts";
import { register } from "../../controller/register.ts";
import type { WorkerContext } from "../../controller/worker.ts";
import type { RewardManager, SampleReward } from "../../reward/reward-manager.ts";
import { inNameOf } from "../../registry/index.ts";
import { RewardStream } from "../../reward/reward-stream.ts";
import { scoreBatch } from "../../reward/score-batch.ts";
import { openPpoSite, type PpoSite, type SiteOptions } from "../run-site.ts";
import { RunWorker, type RunWorkerOptions } from "./run-worker.ts";

/** A batch whose answers are scored as they come. */
interface OpenBatch {
  readonly stream: RewardStream;
  /** Ends it. */
  readonly controller: AbortController;
}

/** Scores answers with the reward manager of the config. */
export class RewardWorker extends RunWorker<PpoConfig, PpoSite> {
  static override readonly module: string = "verl";

  private manager: Promise<RewardManager> | undefined;
  private readonly batches = new Map<string, OpenBatch>();

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
    return this.inItsName(() => scoreBatch(manager, batch, options));
  }

  /** Whether the manager scores each answer by itself: `scoreAnswer` is for those that do. */
  @register({ dispatchMode: "ONE_TO_ALL" })
  async streams(): Promise<boolean> {
    return (await this.loaded()).open !== undefined;
  }

  /** Begins to score one answer of a batch, and does not wait for the score. @param name of the batch; the first answer opens it. */
  @register({ dispatchMode: "ONE_TO_ALL" })
  async scoreAnswer(name: string, row: DataProto, { validate }: { validate: boolean }): Promise<void> {
    const manager = await this.loaded();
    let open = this.batches.get(name);
    if (open === undefined) {
      const controller = new AbortController();
      const session = await this.inItsName(() => manager.open!({ validate, signal: controller.signal }));
      open = { stream: new RewardStream(session), controller };
      this.batches.set(name, open);
    }
    open.stream.add(row);
  }

  /**
   * Ends a batch whose answers were scored one by one.
   * @param order its rows, each by how many were given before it; others were given up.
   * @returns one reward a row, in that order
   */
  @register({ dispatchMode: "ONE_TO_ALL" })
  async streamedRewards(
    name: string,
    order: readonly number[],
    { signal }: { signal: AbortSignal },
  ): Promise<SampleReward[]> {
    const open = this.batches.get(name);
    if (open === undefined) return [];
    const { stream, controller } = open;
    const abort = (): void => controller.abort(signal.reason);
    if (signal.aborted) abort();
    else signal.addEventListener("abort", abort, { once: true });
    try {
      return await this.inItsName(() => stream.end(order));
    } finally {
      signal.removeEventListener("abort", abort);
      await this.dropAnswers(name);
    }
  }

  /** Gives up what is still being scored of a batch. */
  @register({ dispatchMode: "ONE_TO_ALL" })
  dropAnswers(name: string): Promise<void> {
    this.batches.get(name)?.controller.abort();
    this.batches.delete(name);
    return Promise.resolve();
  }

  override async dispose(): Promise<void> {
    await Promise.all([super.dispose(), this.disposeManager()]);
  }

  protected override openSite(config: PpoConfig, options: SiteOptions): Promise<PpoSite> {
    return openPpoSite(config, options);
  }

  private async disposeManager(): Promise<void> {
    for (const name of this.batches.keys()) await this.dropAnswers(name);
    const manager = await this.manager?.catch(() => undefined);
    await manager?.dispose?.();
  }

  /** Names the manager in what it fails by. */
  private inItsName<T>(work: () => T | Promise<T>): Promise<T> {
    return inNameOf("reward_manager", this.config.reward_model.reward_manager, async () => work());
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
