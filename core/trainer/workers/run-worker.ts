import { availableParallelism } from "node:os";
import type { PpoConfig, SftConfig } from "../../config/index.ts";
import { register } from "../../controller/register.ts";
import { Worker, type WorkerContext } from "../../controller/worker.ts";
import type { Logger } from "../../registry/index.ts";
import { activateBackend, backendWish } from "../../tensor/backend.ts";
import { RunEnd } from "../run-end.ts";
import type { RunSite, SiteOptions } from "../run-site.ts";

/** What every worker of a trainer is constructed with: plain data, which crosses to any thread or machine. */
export interface RunWorkerOptions<C extends PpoConfig | SftConfig> {
  config: C;
  /** Folder from which the path of a reward file starts. */
  directory: string;
}

/** States of the extensions of one rank, by name. */
export type PluginStates = Record<string, unknown>;

/**
 * A worker of a trainer. In the trainer's own thread it uses the trainer's site; elsewhere it opens one, which the workers that share
 * its rank use too.
 */
export abstract class RunWorker<C extends PpoConfig | SftConfig, S extends RunSite> extends Worker {
  protected readonly config: C;
  private readonly directory: string;
  private readonly given: S | undefined;
  private readonly ended = new RunEnd();
  private opening: Promise<S> | undefined;

  constructor(context: WorkerContext, { config, directory }: RunWorkerOptions<C>) {
    super(context);
    this.config = config;
    this.directory = directory;
    this.given = context.local as S | undefined;
  }

  /** States of what plugins keep here, to be saved: nothing where the trainer, whose container it is, saves them itself. */
  @register({ dispatchMode: "ONE_TO_ALL" })
  async savePluginStates(): Promise<PluginStates> {
    return this.given ? {} : (await this.site()).container.saveStates();
  }

  /** One element a rank, as `savePluginStates` gave them; they are the trainer's to give back where it saves them. */
  @register({ dispatchMode: "DP_COMPUTE" })
  async loadPluginStates(states: PluginStates): Promise<void> {
    if (!this.given) (await this.site()).container.loadStates(states);
  }

  override dispose(): void | Promise<void> {
    return this.ended.end();
  }

  /** Opens the site of a worker that is by itself. */
  protected abstract openSite(config: C, options: SiteOptions): Promise<S>;

  /** What this worker shares with others of its thread. */
  protected site(): Promise<S> {
    if (this.given) return Promise.resolve(this.given);
    return (this.opening ??= this.colleagueSite() ?? this.open());
  }

  /** Ranks of one machine share its cores. */
  protected async activateBackend(): Promise<void> {
    if (this.given) return;
    const { localWorldSize } = this;
    const threads = localWorldSize > 1 ? Math.max(1, Math.floor(availableParallelism() / localWorldSize)) : undefined;
    await activateBackend(this.config.tensor_backend, { ...backendWish(this.config), threads });
  }

  private open(): Promise<S> {
    return this.openSite(this.config, {
      directory: this.directory,
      log: this.rank === 0 ? this.logger : warningsOf(this.logger),
      metrics: this.metrics,
      end: this.ended,
    });
  }

  private colleagueSite(): Promise<S> | undefined {
    for (const colleague of this.colleagues.values()) {
      if (colleague instanceof RunWorker && colleague.opening) return colleague.opening as Promise<S>;
    }
    return undefined;
  }
}

/** What one rank tells, all would. */
function warningsOf(logger: Logger): Logger {
  const nothing = (): void => undefined;
  return {
    debug: nothing,
    info: nothing,
    warn: (message, fields) => logger.warn(message, fields),
    warnOnce: (code, message) => logger.warnOnce(code, message),
  };
}
