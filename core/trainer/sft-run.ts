import type { SftConfig } from "../config/index.ts";
import type { GroupOf } from "../controller/worker-group.ts";
import { DataLoader } from "../data/loader.ts";
import type { SftDataset } from "../data/sft-dataset.ts";
import type { Tokenizer } from "../data/tokenizer.ts";
import type { RunContainer } from "../registry/index.ts";
import { activateBackend, backendWish } from "../tensor/backend.ts";
import { openConversations } from "./open-conversations.ts";
import type { RestartPoint } from "./restarts.ts";
import { preparing } from "./preparing.ts";
import { requireMachines } from "./require-machines.ts";
import { RunConsole } from "./run-console.ts";
import { RunEnd } from "./run-end.ts";
import type { TrainerOptions } from "./run-options.ts";
import { RunRecord } from "./run-record.ts";
import { openSftSite } from "./run-site.ts";
import { tellNoValidation } from "./tell-no-validation.ts";
import { startSftGroup } from "./worker-groups.ts";
import type { SftWorker } from "./workers/sft-worker.ts";

/** Nothing that plugins of a supervised run report has a step to go to. */
const NO_METRICS = { add: (): void => undefined };

/** Everything that a supervised run has before its first step. */
export interface SftRun {
  config: SftConfig;
  container: RunContainer;
  console: RunConsole;
  record: RunRecord;
  tokenizer: Tokenizer;
  train: SftDataset;
  validation: SftDataset | undefined;
  loader: DataLoader;
  total: number;
  workers: GroupOf<SftWorker>;
  /** Ends the workers, and what plugins have open. */
  close(): Promise<void>;
  stop: AbortSignal;
}

/** Reads and checks everything that the run needs. */
export async function createSftRun(
  config: SftConfig,
  options: TrainerOptions = {},
  restart?: RestartPoint,
): Promise<SftRun> {
  const ended = new RunEnd();
  return preparing(ended, options.signal, () => prepare(config, options, ended, restart));
}

async function prepare(
  config: SftConfig,
  options: TrainerOptions,
  ended: RunEnd,
  restart: RestartPoint | undefined,
): Promise<SftRun> {
  requireMachines(config);
  const console = new RunConsole(options);
  const { data, trainer } = config;
  const directory = options.directory ?? process.cwd();
  tellNoValidation(config, console.logger);
  console.logger.info((await activateBackend(config.tensor_backend, backendWish(config))).note);
  const site = await openSftSite(config, {
    directory,
    log: console.logger,
    metrics: NO_METRICS,
    end: ended,
  });
  const { container, tokenizer } = site;
  const open = (split: "train" | "validation"): Promise<SftDataset> =>
    openConversations(container, config, split, {
      tokenizer,
      log: console.logger,
      progress: (work) => console.work(work),
      directory,
    });
  const train = await open("train");
  const validation = data.val_files.length > 0 ? await open("validation") : undefined;
  const loader = new DataLoader({
    length: train.length,
    batchSize: data.train_batch_size,
    sampler: container.create("sampler", data.shuffle ? "random" : "sequential"),
  });
  const stop = options.signal ?? new AbortController().signal;
  const total = trainer.total_training_steps ?? loader.stepsPerEpoch * trainer.total_epochs;
  const { workers, close } = await startSftGroup(config, site, total, { directory, signal: ended.signal });
  return {
    config,
    container,
    console,
    record: new RunRecord({
      config,
      facts: options.facts,
      keep: trainer.max_ckpt_to_keep,
      container,
      console,
      restart,
      stop,
    }),
    tokenizer,
    train,
    validation,
    loader,
    total,
    workers,
    close: async () => {
      await Promise.all([ended.end(), close()]);
    },
    stop,
  };
}
