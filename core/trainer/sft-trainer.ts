import type { SftConfig } from "../config/index.ts";
import type { GroupOf } from "../controller/worker-group.ts";
import { collateSft } from "../data/collate-sft.ts";
import { DataLoader, type LoaderState } from "../data/loader.ts";
import type { SftDataset } from "../data/sft-dataset.ts";
import type { Tokenizer } from "../data/tokenizer.ts";
import type { RunContainer } from "../registry/index.ts";
import type { Checkpoint } from "./checkpoint/index.ts";
import { activateBackend, backendWish } from "../tensor/backend.ts";
import { fitLoop, type FitEnd } from "./fit-loop.ts";
import type { StepMetrics } from "./metrics/step-metrics.ts";
import { computeThroughputMetrics } from "./metrics/timing-metrics.ts";
import { openConversations } from "./open-conversations.ts";
import { loadRankStates, saveRankStates } from "./rank-states.ts";
import { RunConsole } from "./run-console.ts";
import type { TrainerOptions } from "./run-options.ts";
import { freezeFor, RunRecord, type FitResult } from "./run-record.ts";
import { openSftSite } from "./run-site.ts";
import { trainedTokens } from "./sft-loss.ts";
import { tellNoValidation } from "./tell-no-validation.ts";
import { startSftGroup } from "./worker-groups.ts";
import type { SftWorker } from "./workers/sft-worker.ts";

/** Nothing that plugins of a supervised run report has a step to go to. */
const NO_METRICS = { add: (): void => undefined };

interface SftParts {
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

/** Supervised fine-tuning: imitates the assistant's side of conversations. */
export class SftTrainer {
  private constructor(private readonly parts: SftParts) {}

  /** Reads and checks everything that the run needs. Plugins are loaded and the config is validated before. */
  static async create(config: SftConfig, options: TrainerOptions = {}): Promise<SftTrainer> {
    const console = new RunConsole(options);
    const { data, trainer } = config;
    const directory = options.directory ?? process.cwd();
    const ended = new AbortController();
    tellNoValidation(config, console.logger);
    console.logger.info((await activateBackend(config.tensor_backend, backendWish(config))).note);
    const site = await openSftSite(config, {
      directory,
      log: console.logger,
      metrics: NO_METRICS,
      signal: ended.signal,
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
    const loader = new DataLoader({
      length: train.length,
      batchSize: data.train_batch_size,
      sampler: container.create("sampler", data.shuffle ? "random" : "sequential"),
    });
    const total = trainer.total_training_steps ?? loader.stepsPerEpoch * trainer.total_epochs;
    const { workers, close } = await startSftGroup(config, site, total, { directory, signal: ended.signal });
    return new SftTrainer({
      config,
      container,
      console,
      record: new RunRecord({ config, facts: options.facts, keep: trainer.max_ckpt_to_keep, container, console }),
      tokenizer,
      train,
      validation: data.val_files.length > 0 ? await open("validation") : undefined,
      loader,
      total,
      workers,
      close: () => {
        ended.abort();
        return close();
      },
      stop: options.signal ?? new AbortController().signal,
    });
  }

  /** Trains to the last step or until asked to stop, and writes the model folder at the end. */
  async fit(): Promise<FitResult> {
    const { record, workers, total, console, config } = this.parts;
    const unfreeze = freezeFor(config.trainer);
    try {
      const start = await record.begin((checkpoint) => this.restore(checkpoint));
      console.begin(total, start);
      const end = await this.loop(start);
      return await record.close(end, total, (folder) => workers.savePretrained(folder));
    } catch (error) {
      await record.abandon();
      throw error;
    } finally {
      unfreeze();
      await this.parts.close();
    }
  }

  private async loop(start: number): Promise<FitEnd> {
    const { config, record, total, stop, validation } = this.parts;
    const { save_freq, test_freq } = config.trainer;
    return fitLoop(
      {
        step: (step, metrics) => this.step(metrics),
        validate: () => this.validate(),
        save: (step) => this.save(step),
        log: (metrics, step) => record.log(metrics, step),
      },
      { start, total, testFreq: validation ? test_freq : 0, saveFreq: save_freq, stop },
    );
  }

  private async step(metrics: StepMetrics): Promise<void> {
    const { loader, train, workers, console } = this.parts;
    const { indices, epoch } = loader.next();
    const batch = this.collate(train, indices);
    console.phase("train");
    const [result] = await metrics.timer("step")(() => workers.trainBatch(batch));
    metrics.addAll(result!);
    const attention = batch.tensor("attention_mask", "int32").data;
    const tokens = attention.reduce((sum, flag) => sum + flag, 0);
    metrics.add("train/global_tokens", trainedTokens(batch));
    metrics.add("training/epoch", epoch);
    metrics.addAll(train.stats);
    metrics.addAll(computeThroughputMetrics(tokens, metrics.timings()["step"]!, workers.worldSize));
  }

  private async validate(): Promise<Record<string, number>> {
    const { config, validation, workers, record, console } = this.parts;
    console.phase("validate");
    let [nll, tokens] = [0, 0];
    const rows = validation?.length ?? 0;
    for (let first = 0; first < rows; first += config.data.train_batch_size) {
      const last = Math.min(first + config.data.train_batch_size, rows);
      const batch = this.collate(
        validation!,
        Array.from({ length: last - first }, (_, offset) => first + offset),
      );
      for (const share of await workers.evaluate(batch)) {
        nll += share.nll;
        tokens += share.tokens;
      }
    }
    const metrics: Record<string, number> = tokens > 0 ? { "val/loss": nll / tokens } : {};
    record.validated(metrics);
    return metrics;
  }

  private collate(dataset: SftDataset, indices: ArrayLike<number>): ReturnType<typeof collateSft> {
    const { config, tokenizer } = this.parts;
    return collateSft(
      Array.from(indices, (index) => dataset.example(index)),
      { padTokenId: tokenizer.padTokenId, ...(config.data.packing && { packTo: config.data.max_length }) },
    );
  }

  private async restore({ parts }: Checkpoint): Promise<void> {
    const { workers, loader, container, console } = this.parts;
    await workers.loadState(parts.engines["actor"]!);
    container.loadStates(parts.plugins);
    await loadRankStates({ sft: workers }, parts, console.logger);
    loader.loadState(parts.loader as LoaderState);
  }

  private async save(step: number): Promise<() => Promise<void>> {
    const { record, workers, loader, config, container } = this.parts;
    const [actor] = await workers.saveState();
    const wantsModel = config.trainer.checkpoint.save_contents.includes("hf_model");
    return record.save(step, {
      engines: { actor: actor! },
      models: wantsModel ? { actor: (folder) => workers.savePretrained(folder) } : {},
      loader: loader.saveState(),
      rng: { seed: config.trainer.seed },
      plugins: container.saveStates(),
      ...(await saveRankStates({ sft: workers })),
      extra: {},
    });
  }
}
