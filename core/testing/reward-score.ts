import fc from "fast-check";
import { isDeepStrictEqual } from "node:util";
import { registries } from "../registry/index.ts";
import { toSampleReward, type SampleReward, type ScoreInput } from "../reward/index.ts";
import { type GoldenCase, type GoldenCases } from "./cases.ts";
import type { EntrySubject } from "./entry-properties.ts";
import { answers, forInputs, shown, withoutWrites } from "./plain-property.ts";
import { Violation, type Property } from "./property.ts";
import { optionsOf } from "./subject.ts";
import { defineSuite, type Suite, type SuiteOptions, type TestedWith } from "./suite.ts";

type Scored = {
  readonly solution_str: string;
  readonly ground_truth: unknown;
  readonly data_source?: string;
  readonly extra_info?: Readonly<Record<string, unknown>>;
};

/** A golden case of a score function: one answer; the score and such parts as are expected. */
export type RewardScoreCase = GoldenCase<Scored, { readonly score: number } & Readonly<Record<string, unknown>>>;

interface ScoreSubject extends EntrySubject {
  /** What the golden cases have beside their answers; generated answers are put in their place. */
  readonly rows: readonly Omit<Scored, "solution_str">[];
  readonly inputOf: (answer: Scored) => ScoreInput;
  readonly score: (input: ScoreInput) => Promise<SampleReward>;
}

/** A text that long must not take long: scores are computed while training waits. */
const LONG = 50_000;
const PATIENCE_MS = 5_000;

function rewardScore(key: string, { options: given }: TestedWith, cases: GoldenCases<RewardScoreCase>): ScoreSubject {
  const { entry, key: canonical } = registries.reward_score.find(key);
  const options = optionsOf("reward_score", key, given);
  const rows = typeof cases === "string" ? [] : cases.map(({ input: { solution_str: _, ...row } }) => row);
  return {
    kind: "reward_score",
    key: canonical,
    entry,
    options,
    rows: rows.length > 0 ? rows : [{ ground_truth: "42" }],
    inputOf: ({ data_source = canonical, extra_info = {}, ...answer }) =>
      structuredClone({ data_source, extra_info, ...answer, ...options }),
    score: async (input) => toSampleReward(await entry.score(input)),
  };
}

const anyAnswer = ({ rows, inputOf }: ScoreSubject): fc.Arbitrary<ScoreInput> =>
  fc
    .record({ solution_str: answers, row: fc.constantFrom(...rows) })
    .map(({ solution_str, row }) => inputOf({ solution_str, ...row }));

const everyTextIsScored: Property<ScoreSubject> = forInputs(
  "every answer has a finite score",
  anyAnswer,
  async (subject, input) => {
    const reward = await subject.score(input);
    if ("unscored" in reward) return reward.unscored;
    return reward.notFinite && `the part ${reward.notFinite.join(", ")} is not finite`;
  },
);

const sameScore: Property<ScoreSubject> = forInputs(
  "the same answer has the same score",
  anyAnswer,
  async (subject, input) => {
    const [first, second] = [await subject.score(input), await subject.score(input)];
    return isDeepStrictEqual(first, second) ? undefined : `it gives ${shown(first)}, then ${shown(second)}`;
  },
);

const notWritten: Property<ScoreSubject> = forInputs("inputs are not written", anyAnswer, (subject, input) =>
  withoutWrites(input, subject.score),
);

const longAnswers: Property<ScoreSubject> = {
  name: "long answers do not take long",
  async check({ inputOf, score, rows }) {
    for (const unit of ["(", "\\boxed{", "1,", "a ", "{", "$", "\n"]) {
      const input = inputOf({ ...rows[0]!, solution_str: unit.repeat(LONG / unit.length) });
      const started = performance.now();
      await score(input);
      const took = performance.now() - started;
      if (took > PATIENCE_MS)
        throw new Violation(`${LONG} characters of ${shown(unit)} take it ${(took / 1000).toFixed(1)} s`);
    }
  },
};

async function checkScore({ inputOf, score }: ScoreSubject, { input, expected }: RewardScoreCase): Promise<void> {
  const reward = await score(inputOf(input));
  if ("unscored" in reward) throw new Violation(`it gives no score: ${reward.unscored}`);
  const got: Readonly<Record<string, unknown>> = { ...reward.extra, score: reward.score };
  for (const [name, want] of Object.entries(expected)) {
    const value = got[name];
    const same =
      typeof want === "number" && typeof value === "number" ? Math.abs(want - value) <= 1e-9 : want === value;
    if (!same) throw new Violation(`${name} is ${shown(value)}, not ${shown(want)}`);
  }
}

/** The tests of one entry of the kind. */
export const rewardScoreSuite = (
  key: string,
  options: TestedWith & { readonly cases?: GoldenCases<RewardScoreCase> },
): Suite<ScoreSubject, RewardScoreCase> => ({
  kind: "reward_score",
  key,
  subject: () => rewardScore(key, options, options.cases ?? []),
  properties: [everyTextIsScored, sameScore, notWritten, longAnswers],
  golden: checkScore,
});

/**
 * Tests a score function: any text gets a finite score, the same each time and soon, and your golden cases.
 *
 *     testRewardScore("my_key", { cases: [{ name: "right", input: { solution_str: "4", ground_truth: "4" }, expected: { score: 1 } }] });
 *
 * @throws VERL_TESTING_CASES for golden cases that prove nothing; VERL_TESTING_SETUP without a test runner.
 */
export function testRewardScore(key: string, options: SuiteOptions<RewardScoreCase>): void {
  defineSuite(rewardScoreSuite(key, options), options);
}
