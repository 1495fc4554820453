import type { DataProto } from "../../core/batch/index.ts";
import { inject, TOKENIZER } from "../../core/registry/index.ts";
import {
  mapConcurrent,
  readAnswers,
  RewardManager,
  SCORE_FUNCTIONS,
  toSampleReward,
  unscored,
  type Answer,
  type RewardManagerEntry,
  type RewardSession,
  type SampleReward,
  type ScoreFunctions,
} from "../../core/reward/index.ts";
import type { Tokenizer } from "../../core/data/index.ts";
import { testRewardManager } from "../../core/testing/index.ts";
import { faultsOfData, testFaults } from "./faults.ts";

/** Calls the run's score function a row; what a test wants otherwise is overridden. */
class Honest extends RewardManager {
  constructor(
    readonly tokenizer: Tokenizer,
    readonly functions: ScoreFunctions,
  ) {
    super();
  }

  score(batch: DataProto, { signal }: { signal?: AbortSignal }): Promise<SampleReward[]> {
    return mapConcurrent(readAnswers(batch, this.tokenizer), 8, (answer) => this.scoreOne(answer), signal);
  }

  protected async scoreOne(answer: Answer): Promise<SampleReward> {
    try {
      return toSampleReward(await this.functions.get(answer.data_source)(answer));
    } catch (error) {
      return unscored("error", String(error));
    }
  }
}
inject(TOKENIZER)(Honest, undefined, 0);
inject(SCORE_FUNCTIONS)(Honest, undefined, 1);

class MayBeNaN extends Honest {
  protected override scoreOne({ solution_str }: Answer): Promise<SampleReward> {
    return Promise.resolve({ score: solution_str.includes("a") ? 1 : NaN, extra: {} });
  }
}
class NoReason extends Honest {
  protected override scoreOne(): Promise<SampleReward> {
    return Promise.resolve({ unscored: "", extra: {} });
  }
}
class OneTooFew extends Honest {
  override async score(batch: DataProto, options: { signal?: AbortSignal }): Promise<SampleReward[]> {
    return (await super.score(batch, options)).slice(1);
  }
}
class AsTheyCome extends Honest {
  override async score(batch: DataProto): Promise<SampleReward[]> {
    const rewards: SampleReward[] = [];
    const answers = readAnswers(batch, this.tokenizer);
    await Promise.all(answers.map(async (answer) => rewards.push(await this.scoreOne(answer))));
    return rewards;
  }
}
class AsTheyComeOneByOne extends Honest {
  override open(): RewardSession {
    const rewards: Promise<SampleReward>[] = [];
    return {
      add: (row) => rewards.push(...readAnswers(row, this.tokenizer).map((answer) => this.scoreOne(answer))),
      end: async (order) => (await Promise.all(rewards)).slice(0, order.length),
    };
  }
}
let calls = 0;
class Counts extends Honest {
  protected override scoreOne(): Promise<SampleReward> {
    return Promise.resolve({ score: calls++, extra: {} });
  }
}
class Writes extends Honest {
  override score(batch: DataProto, options: { signal?: AbortSignal }): Promise<SampleReward[]> {
    batch.tensor("responses", "int32").data[0] = 1;
    return super.score(batch, options);
  }
}
class WritesIntoRows extends Honest {
  override score(batch: DataProto, options: { signal?: AbortSignal }): Promise<SampleReward[]> {
    for (const info of batch.column("extra_info")) (info as Record<string, unknown>)["seen"] = true;
    return super.score(batch, options);
  }
}
class SilentZero extends Honest {
  protected override async scoreOne(answer: Answer): Promise<SampleReward> {
    const reward = await super.scoreOne(answer);
    return "unscored" in reward ? { score: 0, extra: {} } : reward;
  }
}
class NeverStops extends Honest {
  override score(batch: DataProto): Promise<SampleReward[]> {
    return super.score(batch, {});
  }
}

const entry = (create: RewardManagerEntry["create"]): RewardManagerEntry => ({
  description: "Score by score.",
  create,
});

testFaults("reward_manager", {
  suite: testRewardManager,
  honest: entry(Honest),
  cases: [{ name: "two", input: { answers: ["ab", "c"], score: [1, 0.5] }, expected: { scores: [1, 0.5] } }],
  wrongCases: [
    ["scores are [1], not [2]", { name: "one", input: { answers: ["a"] }, expected: { scores: [2] } }],
    ["scores are [1], not [null]", { name: "one", input: { answers: ["a"] }, expected: { scores: [null] } }],
  ],
  faults: [
    ...faultsOfData(entry(Honest)),
    { property: "each answer has a finite score, or a reason why not", words: '"score":null', entry: entry(MayBeNaN) },
    { property: "each answer has a finite score, or a reason why not", words: '"unscored":""', entry: entry(NoReason) },
    {
      property: "each answer has a finite score, or a reason why not",
      words: "0 results for 1 row",
      entry: entry(OneTooFew),
    },
    { property: "results stand in the order of their rows", words: "scores are", entry: entry(AsTheyCome) },
    {
      property: "answers that come one by one have the rewards of the batch",
      words: "and in one batch",
      entry: entry(AsTheyComeOneByOne),
    },
    { property: "the same batch has the same scores", words: "it gives", entry: entry(Counts) },
    { property: "the batch is not written", words: "the batch is another afterwards", entry: entry(Writes) },
    { property: "the batch is not written", words: "the batch is another afterwards", entry: entry(WritesIntoRows) },
    {
      property: "a score that cannot be had is no silent zero",
      words: "the score function throws",
      entry: entry(SilentZero),
    },
    { property: "a stop ends it", words: "although its signal has aborted", entry: entry(NeverStops) },
  ],
});
