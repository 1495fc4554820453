import fc from "fast-check";
import type { AdvantageConfig, AdvantageInput } from "../algorithm/index.ts";
import { NdArray } from "../batch/index.ts";
import { isVerlError } from "../errors/index.ts";
import { batches, junk, mapValues, MAX_ROWS, type Batch } from "./batch.ts";
import { checkCase, type GoldenCase, type Matrix, type TokenFields } from "./cases.ts";
import { fieldShapes } from "./fields.ts";
import { close, crop, difference, notFinite, notZeroBehindMask, show } from "./outcome.ts";
import { forAll, Violation, type Property } from "./property.ts";
import * as shared from "./shared-properties.ts";
import {
  entryUnder,
  evaluate,
  requireShape,
  optionsOf,
  watchedFields,
  watchedOptions,
  type Subject,
} from "./subject.ts";
import { defineSuite, type Suite, type SuiteOptions, type TestedWith } from "./suite.ts";
import { addUnscored, renameGroups, repeatRows } from "./transforms.ts";

/** A golden case of an advantage estimator. `unscored` and fields of `requires` go into `input` too. */
export type AdvEstCase = GoldenCase<
  TokenFields<"token_level_rewards" | "response_mask"> & { readonly uid: readonly string[] },
  { readonly advantages?: Matrix; readonly returns?: Matrix; readonly metrics?: Readonly<Record<string, number>> },
  AdvantageConfig
>;

const OPTIONAL = "rollout_is_weights";
const USUAL = ["token_level_rewards", "response_mask", "uid", "unscored", OPTIONAL];

function advEst(key: string, { options: given, fields }: TestedWith): Subject {
  const { entry, key: canonical } = entryUnder("adv_estimator", key);
  const options = optionsOf("adv_estimator", key, given);
  const required = [...(entry.requires ?? []), ...(entry.fieldsOf?.(options) ?? [])];
  return {
    kind: "adv_estimator",
    key: canonical,
    entry,
    options,
    shape: {
      ...fieldShapes(["token_level_rewards", OPTIONAL, ...required], fields),
      settings: {
        gamma: fc.constantFrom(1, 0.9),
        lam: fc.constantFrom(1, 0.95),
        norm_adv_by_std_in_grpo: fc.boolean(),
      },
      optional: [OPTIONAL],
    },
    zeroBehindMask: ["advantages"],
    begin: (batch) => batch,
    prepare(batch) {
      const input = inputOf(batch);
      const config: AdvantageConfig = {
        gamma: 1,
        lam: 1,
        norm_adv_by_std_in_grpo: true,
        ...batch.settings,
        adv_kwargs: { ...options, ...(batch.settings["adv_kwargs"] as object | undefined) },
      };
      const strictConfig = { ...config, adv_kwargs: watchedOptions(config.adv_kwargs, entry) };
      return {
        run(strict = false) {
          const scalars: Record<string, number> = {};
          const metric = (name: string, value: number): void => void (scalars[name] = value);
          const { advantages, returns } = strict
            ? entry.compute(watchedFields(input, [...USUAL, ...required]), strictConfig, { metric })
            : entry.compute(input, config, { metric });
          for (const [name, field] of Object.entries({ advantages, returns })) {
            requireShape(name, field, [batch.rows, batch.width]);
            const { dtype }: { dtype: string } = field;
            if (dtype !== "float32") throw new Violation(`\`${name}\` is ${dtype}, not float32`);
          }
          return { scalars, tokens: { advantages: advantages.data, returns: returns.data } };
        },
        snapshot: () => ({
          ...mapValues(input, (value) => [...((value instanceof NdArray ? value.data : value) as Iterable<unknown>)]),
          config: structuredClone(config),
        }),
        dispose: () => {},
      };
    },
  };
}

function inputOf(batch: Batch): AdvantageInput {
  const array = (values: Float32Array): NdArray<"float32"> =>
    new NdArray("float32", [batch.rows, batch.width], values.slice());
  const column = (values: readonly unknown[]): unknown =>
    values.every((value) => typeof value === "number")
      ? new NdArray("float32", [batch.rows], Float32Array.from(values))
      : [...values];
  return {
    ...mapValues(batch.perRow, column),
    ...(mapValues(batch.tokens, array) as { token_level_rewards: NdArray<"float32"> }),
    response_mask: array(batch.mask),
    uid: [...batch.uid],
    unscored: batch.unscored.slice(),
  };
}

const groupNames: Property<Subject> = forAll(
  "the names of groups do not matter",
  (subject) => [batches(subject.shape)],
  async (subject, batch) => {
    const named = await evaluate(subject, renameGroups(batch));
    const what = difference(named, await evaluate(subject, batch), batch.width, close);
    return what && `with other uids, ${what}`;
  },
);

const unscoredRows: Property<Subject> = forAll(
  "unscored rows take no part and get 0",
  (subject) => [batches(subject.shape), fc.nat(MAX_ROWS), junk],
  async (subject, batch, row, reward) => {
    const longer = addUnscored(batch, row, reward);
    const outcome = await evaluate(subject, longer);
    const what = difference(crop(outcome, longer, batch), await evaluate(subject, batch), batch.width, close);
    if (what !== undefined) return `with an unscored row of reward ${show(reward)} more, ${what}`;
    const last = { ...longer, mask: longer.mask.map((bit, at) => (at < batch.mask.length ? bit : 0)) };
    return notZeroBehindMask("advantages", outcome, last)?.replace("behind the mask", "in an unscored row");
  },
);

const groupsOfOne: Property<Subject> = forAll(
  "groups of one give defined values",
  (subject) => [batches(subject.shape, [1, 1])],
  async (subject, batch) => {
    try {
      return notFinite(await evaluate(subject, batch), batch.width);
    } catch (error) {
      // An estimator may refuse them, in words.
      if (isVerlError(error)) return undefined;
      throw error;
    }
  },
);

const equalGroups: Property<Subject> = forAll(
  "groups of equal rows give defined values",
  (subject) => [batches(subject.shape, [1, 1]), fc.integer({ min: 2, max: 3 })],
  async (subject, batch, times) => {
    const what = notFinite(await evaluate(subject, repeatRows(batch, times)), batch.width);
    return what && `with each row ${times} times, as one group, ${what}`;
  },
);

const PROPERTIES: readonly Property<Subject>[] = [
  shared.shapes,
  shared.maskedInert,
  shared.rowOrder,
  groupNames,
  shared.paddingRows,
  shared.paddingColumns,
  unscoredRows,
  groupsOfOne,
  equalGroups,
  shared.noTokens,
  shared.deterministic,
  shared.notWritten,
  shared.noLeak,
  shared.declaredReads,
  shared.declaredMetrics,
];

/** The tests of one entry of the kind. */
export const advEstSuite = (key: string, options: TestedWith): Suite<Subject, AdvEstCase> => ({
  kind: "adv_estimator",
  key,
  subject: () => advEst(key, options),
  properties: PROPERTIES,
  golden: checkCase,
});

/**
 * Tests an advantage estimator: all that the trainer and other estimators' users rely on, and your golden cases.
 *
 *     registerPlugin(plugin);
 *     testAdvEst("my_key", { cases: [{ name: "two answers", input: { token_level_rewards, response_mask, uid }, expected: { advantages } }] });
 *
 * @throws VERL_TESTING_CASES for golden cases that prove nothing; VERL_TESTING_SETUP without a test runner.
 */
export function testAdvEst(key: string, options: SuiteOptions<AdvEstCase>): void {
  defineSuite(advEstSuite(key, options), options);
}
