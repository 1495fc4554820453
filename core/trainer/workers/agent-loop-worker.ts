import type { LoopRunner } from "../../agent/loop-runner.ts";
import type { DataProto } from "../../batch/data-proto.ts";
import type { PpoConfig } from "../../config/index.ts";
import type { Listener } from "../../controller/listener.ts";
import { register } from "../../controller/register.ts";
import type { WorkerContext } from "../../controller/worker.ts";
import { VerlError } from "../../errors/index.ts";
import { RolloutClient, type RolloutAnswer, type RolloutAsk } from "../rollout/rollout-client.ts";
import { openPpoSite, type PpoSite, type SiteOptions } from "../run-site.ts";
import { answerPrompts, createLoopRunner, type GenerateOptions } from "./answer-prompts.ts";
import { RunWorker, type RunWorkerOptions } from "./run-worker.ts";

/** What one of the ranks asks the engines. */
export interface AskOfRank extends RolloutAsk {
  readonly rank: number;
}

/** Runs agent loops, and no model: the engines that they ask stand on other ranks. */
export class AgentLoopWorker extends RunWorker<PpoConfig, PpoSite> {
  static override readonly module: string = "verl";

  private runner: LoopRunner | undefined;
  private asked: Listener<AskOfRank> | undefined;
  private readonly rollout = new RolloutClient((ask) => this.asked?.tell({ ...ask, rank: this.rank }));

  constructor(context: WorkerContext, options: RunWorkerOptions<PpoConfig>) {
    super(context, options);
  }

  /** Makes what the loops need; the first call. */
  @register({ dispatchMode: "ONE_TO_ALL" })
  async load(): Promise<void> {
    this.runner = await createLoopRunner(this.config, await this.site(), this.rollout);
  }

  /**
   * Answers every row: the batch with verl's rollout fields, without the rows of groups that failed.
   * @param options with who is told what the loops ask; the answers come by `takeAnswers`.
   */
  @register({ dispatchMode: "DP_COMPUTE_PROTO" })
  async generateSequences(
    prompts: DataProto,
    { asked, ...options }: GenerateOptions & { asked: Listener<AskOfRank> },
  ): Promise<DataProto> {
    const { runner, config, rank } = this;
    if (!runner) throw new VerlError("VERL_INTERNAL", "An agent-loop worker was used before load.");
    this.asked = asked;
    return answerPrompts(runner, { config, rank, rng: (await this.site()).rng }, prompts, options);
  }

  /** Answers of the engines to what this rank asked. */
  @register({ dispatchMode: "ONE_TO_ALL", blocking: false })
  takeAnswers(answers: readonly RolloutAnswer[]): Promise<void> {
    this.rollout.settle(answers);
    return Promise.resolve();
  }

  override dispose(): void | Promise<void> {
    this.rollout.dispose();
    return super.dispose();
  }

  protected override openSite(config: PpoConfig, options: SiteOptions): Promise<PpoSite> {
    return openPpoSite(config, options);
  }
}
