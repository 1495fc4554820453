import { collateSft } from "../data/collate-sft.ts";
import type { LoaderState } from "../data/loader.ts";
import type { SftDataset } from "../data/sft-dataset.ts";
import type { Checkpoint } from "./checkpoint/index.ts";
import { fitLoop, type FitEnd } from "./fit-loop.ts";
import type { StepMetrics } from "./metrics/step-metrics.ts";
import { computeThroughputMetrics } from "./metrics/timing-metrics.ts";
import { loadRankStates, saveRankStates, trainerStates } from "./rank-states.ts";
import type { Attempt } from "./restarts.ts";
import { freezeFor, type FitResult } from "./run-record.ts";
import { trainedTokens } from "./sft-loss.ts";
import type { SftRun } from "./sft-run.ts";

/** One attempt at a supervised run, which a worker's death ends. */
export class SftAttempt implements Attempt {
  constructor(private readonly run: SftRun) {}

  get record(): SftRun["record"] {
    return this.run.record;
  }

  /** Trains to the last step or until asked to stop, and writes the model folder at the end. */
  async fit(): Promise<FitResult> {
    const { record, workers, total, console, config } = this.run;
    const unfreeze = freezeFor(config.trainer);
    try {
      const start = await record.begin((checkpoint) => this.restore(checkpoint));
      console.begin(total, start);
      const end = await this.loop(start);
      return await record.close(end, total, (folder) => workers.savePretrained(folder));
    } finally {
      unfreeze();
    }
  }

  close(): Promise<void> {
    return this.run.close();
  }

  private async loop(start: number): Promise<FitEnd> {
    const { config, record, total, stop, validation } = this.run;
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
    const { loader, train, workers, console } = this.run;
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
    const { config, validation, workers, record, console } = this.run;
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
    const { config, tokenizer } = this.run;
    return collateSft(
      Array.from(indices, (index) => dataset.example(index)),
      { padTokenId: tokenizer.padTokenId, ...(config.data.packing && { packTo: config.data.max_length }) },
    );
  }

  private async restore({ parts }: Checkpoint): Promise<void> {
    const { workers, loader, container, console } = this.run;
    await workers.loadState(parts.engines["actor"]!);
    container.loadStates(trainerStates(parts));
    await loadRankStates({ sft: workers }, parts, console.logger);
    loader.loadState(parts.loader as LoaderState);
  }

  private async save(step: number): Promise<() => Promise<void>> {
    const { record, workers, loader, config, container } = this.run;
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
