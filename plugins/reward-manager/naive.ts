import { readAnswers, reportTimes, reportUnscored, type DataProto, type SampleReward } from "verl";
import { FunctionRewardManager } from "./function-manager.ts";
import { requireFunctions, timesOf } from "./functions-of-answers.ts";

/** Scores each answer by itself: one call of the score function a row, asynchronous ones side by side, or all in a pool. */
export class NaiveRewardManager extends FunctionRewardManager {
  async score(batch: DataProto, { signal }: { validate: boolean; signal?: AbortSignal }): Promise<SampleReward[]> {
    const answers = readAnswers(batch, this.tokenizer);
    requireFunctions(answers, this.functions);
    const calls = answers.map(({ uid: _, ...input }) => ({ of: 0, input }));
    const scored = await this.scorer.run(calls, signal);
    const rewards = scored.map(({ rewards: [reward] }) => reward!);
    reportUnscored(this.log, rewards, answers);
    reportTimes(this.metrics, this.log, timesOf(this.functions, answers, scored));
    return rewards;
  }
}
