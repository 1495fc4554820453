import { setTimeout } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { DataProto, NdArray } from "../batch/index.ts";
import { registries } from "../registry/index.ts";
import {
  RewardStream,
  SCORE_FUNCTIONS,
  scoreBatch,
  type RewardManager,
  type SampleReward,
  type ScoreFunctions,
} from "../reward/index.ts";
import type { GoldenCase } from "./cases.ts";
import type { EntrySubject } from "./entry-properties.ts";
import { letterTokenizer } from "./letter-tokenizer.ts";
import { forInputs, inTime, shown } from "./plain-property.ts";
import { Violation, type Property } from "./property.ts";
import { optionsOf } from "./subject.ts";
import { defineSuite, type Suite, type SuiteOptions, type TestedWith } from "./suite.ts";
import { testContainer } from "./test-container.ts";

type Answers = {
  /** Texts of the answers; none of them is empty. */
  readonly answers: readonly string[];
  /** What the run's score function makes of each. Default: 1. */
  readonly score?: readonly unknown[];
  /** Default: null. */
  readonly ground_truth?: readonly unknown[];
};

/** A golden case of a reward manager; a score of null stands for an answer that has none. */
export type RewardManagerCase = GoldenCase<Answers, { readonly scores: readonly (number | null)[] }>;

interface ManagerSubject extends EntrySubject {
  readonly manager: (functions: ScoreFunctions) => RewardManager;
}

/** Tries of what waits for timers. */
const FEW = 10;
/** Thrown by the score function in place of a score. */
const THROWS = "throws";

function rewardManager(key: string, { options: given }: TestedWith): ManagerSubject {
  const { entry, key: canonical } = registries.reward_manager.find(key);
  const options = optionsOf("reward_manager", key, given);
  return {
    kind: "reward_manager",
    key: canonical,
    entry,
    options,
    manager: (functions) => testContainer({ [SCORE_FUNCTIONS]: functions }).create("reward_manager", key, { options }),
  };
}

/** A batch as the trainer hands it over: one id a letter, and the columns of a dataset. */
function batchOf({ answers, score = [], ground_truth = [] }: Answers): DataProto {
  const ids = answers.map((answer) => letterTokenizer.encode(answer));
  const width = Math.max(...ids.map(({ length }) => length));
  const shape = [answers.length, width];
  const [responses, mask] = [new Int32Array(answers.length * width), new Int32Array(answers.length * width)];
  ids.forEach((row, index) => {
    responses.set(row, index * width);
    mask.fill(1, index * width, index * width + row.length);
  });
  return new DataProto({
    batch: {
      prompts: new NdArray("int32", [answers.length, 1], new Int32Array(answers.length).fill(2)),
      responses: new NdArray("int32", shape, responses),
      response_mask: new NdArray("float32", shape, Float32Array.from(mask)),
      attention_mask: new NdArray("int32", [answers.length, width + 1], withPrompt(mask, width)),
    },
    nonTensorBatch: {
      uid: answers.map((_, row) => `prompt ${row >> 1}`),
      data_source: answers.map(() => "kit"),
      reward_model: answers.map((_, row) => ({ style: "rule", ground_truth: ground_truth[row] ?? null })),
      extra_info: answers.map((_, row) => ({ index: row, given: score[row] ?? 1 })),
      stop_reason: answers.map(() => "stop"),
      __num_turns__: answers.map(() => 2),
    },
  });
}

const withPrompt = (mask: Int32Array, width: number): Int32Array =>
  Int32Array.from({ length: (mask.length / width) * (width + 1) }, (_, at) =>
    at % (width + 1) === 0 ? 1 : mask[Math.floor(at / (width + 1)) * width + (at % (width + 1)) - 1]!,
  );

/** A score function that returns what the row says, and counts its calls. @param wait What passes before a row's result is there. */
function functionsOf(wait?: (row: number) => Promise<unknown>): ScoreFunctions & { calls: () => number } {
  let calls = 0;
  const result = (given: unknown): number => {
    if (given === THROWS) throw new Error("the score function threw");
    return given as number;
  };
  return {
    calls: () => calls,
    get: () => (input) => {
      calls += 1;
      const { given, index } = input.extra_info as { given: unknown; index: number };
      return wait === undefined ? result(given) : wait(index).then(() => result(given));
    },
  };
}

const score = ({ manager }: ManagerSubject, input: Answers, functions = functionsOf()): Promise<SampleReward[]> =>
  scoreBatch(manager(functions), batchOf(input), { validate: false });

const some = fc.array(
  fc.record({ answer: fc.string({ minLength: 1, maxLength: 8 }), score: fc.constantFrom(0, 0.5, 1) }),
  {
    minLength: 1,
    maxLength: 6,
  },
);
const batches: fc.Arbitrary<Answers> = some.map((rows) => ({
  answers: rows.map(({ answer }) => answer),
  score: rows.map((row) => row.score),
}));

const oneAResult: Property<ManagerSubject> = forInputs(
  "each answer has a finite score, or a reason why not",
  () => batches,
  async ({ manager }, input) => {
    let returned: readonly SampleReward[] = [];
    const own = manager(functionsOf());
    // A run makes the best of a score that is not finite; here what the manager itself returned counts.
    const watched: RewardManager = {
      score: async (batch, options) => (returned = await own.score(batch, options)),
    };
    await scoreBatch(watched, batchOf(input), { validate: false });
    const odd = returned.find((reward) =>
      "unscored" in reward ? reward.unscored.trim() === "" : !Number.isFinite(reward.score),
    );
    return odd && `it returns ${shown(odd)}`;
  },
);

const inOrder: Property<ManagerSubject> = forInputs(
  "results stand in the order of their rows",
  () => batches,
  async (subject, input) => {
    const want = await score(subject, input);
    const lastFirst = functionsOf((row) => setTimeout(input.answers.length - row));
    const got = await score(subject, input, lastFirst);
    const scores = (rewards: SampleReward[]): unknown[] =>
      rewards.map((reward) => ("unscored" in reward ? null : reward.score));
    return isDeepStrictEqual(scores(got), scores(want))
      ? undefined
      : `where the last row is scored first, scores are ${shown(scores(got))}, not ${shown(scores(want))}`;
  },
  FEW,
);

const oneByOne: Property<ManagerSubject> = forInputs(
  "answers that come one by one have the rewards of the batch",
  () => batches,
  async ({ manager }, input) => {
    const { signal } = new AbortController();
    const opened = manager(functionsOf());
    await opened.load?.();
    if (opened.open === undefined) return undefined;
    const batch = batchOf(input);
    const stream = new RewardStream(opened.open({ validate: false, signal }));
    // The last comes first, and the first is given up.
    const rows = [...input.answers.keys()];
    const order = rows.toReversed();
    for (const row of order) stream.add(batch.index([row]));
    const kept = rows.length === 1 ? rows : rows.slice(1);
    const got = await stream.end(kept.map((row) => order.indexOf(row)));
    const whole = await score({ manager } as ManagerSubject, input);
    const want = kept.map((row) => whole[row]);
    return isDeepStrictEqual(got, want) ? undefined : `they have ${shown(got)}, and in one batch ${shown(want)}`;
  },
  FEW,
);

const sameScores: Property<ManagerSubject> = forInputs(
  "the same batch has the same scores",
  () => batches,
  async (subject, input) => {
    const [first, second] = [await score(subject, input), await score(subject, input)];
    return isDeepStrictEqual(first, second) ? undefined : `it gives ${shown(first)}, then ${shown(second)}`;
  },
);

const notWritten: Property<ManagerSubject> = forInputs(
  "the batch is not written",
  () => batches,
  async ({ manager }, input) => {
    const batch = batchOf(input);
    await scoreBatch(manager(functionsOf()), batch, { validate: false });
    return isDeepStrictEqual(batch.toArrow(), batchOf(input).toArrow()) ? undefined : "the batch is another afterwards";
  },
);

const neverASilentZero: Property<ManagerSubject> = {
  name: "a score that cannot be had is no silent zero",
  async check(subject) {
    for (const given of [THROWS, NaN, "text", undefined]) {
      const functions = functionsOf();
      const [reward] = await score(subject, { answers: ["a"], score: [given ?? [null]] }, functions);
      if (functions.calls() === 0) return; // It scores by itself.
      if (reward === undefined || !("unscored" in reward))
        throw new Violation(
          `where the score function ${given === THROWS ? "throws" : `returns ${String(given)}`}, it returns ${shown(reward)}`,
        );
    }
  },
};

const stops: Property<ManagerSubject> = {
  name: "a stop ends it",
  async check({ manager }) {
    const controller = new AbortController();
    let called = false;
    const hanging: ScoreFunctions = {
      get: () => () => {
        called = true;
        controller.abort();
        return new Promise(() => undefined);
      },
    };
    const { signal } = controller;
    const batch = batchOf({ answers: ["a", "b"] });
    const ended = await inTime(scoreBatch(manager(hanging), batch, { validate: false, signal }));
    if (ended === undefined && called)
      throw new Violation("it waits for its score function although its signal has aborted");
  },
};

async function checkScores(subject: ManagerSubject, { input, expected }: RewardManagerCase): Promise<void> {
  const rewards = await score(subject, input);
  const got = rewards.map((reward) => ("unscored" in reward ? null : reward.score));
  const { scores } = expected;
  const same =
    got.length === scores.length &&
    got.every((value, row) => {
      const want = scores[row] ?? null;
      return value === null || want === null ? value === want : Math.abs(value - want) <= 1e-9;
    });
  if (!same) throw new Violation(`scores are ${shown(got)}, not ${shown(scores)}`);
}

/** The tests of one entry of the kind. */
export const rewardManagerSuite = (key: string, options: TestedWith): Suite<ManagerSubject, RewardManagerCase> => ({
  kind: "reward_manager",
  key,
  subject: () => rewardManager(key, options),
  properties: [oneAResult, inOrder, oneByOne, sameScores, notWritten, neverASilentZero, stops],
  golden: checkScores,
});

/**
 * Tests a reward manager over batches of letters, with a score function that returns what a case says: one result a row, in order, no failure as
 * a silent zero, an end when told to, and your golden cases.
 *
 *     testRewardManager("my_key", { cases: [{ name: "two", input: { answers: ["ab", "c"], score: [1, 0] }, expected: { scores: [1, 0] } }] });
 *
 * @throws VERL_TESTING_CASES for golden cases that prove nothing; VERL_TESTING_SETUP without a test runner.
 */
export function testRewardManager(key: string, options: SuiteOptions<RewardManagerCase>): void {
  defineSuite(rewardManagerSuite(key, options), options);
}
