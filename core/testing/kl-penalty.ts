import * as tf from "@tensorflow/tfjs";
import fc from "fast-check";
import { batches, junk, mapValues, MAX_ROWS } from "./batch.ts";
import { checkCase, type GoldenCase, type Matrix, type TokenFields } from "./cases.ts";
import { differentiate } from "./differentiate.ts";
import { fieldShapes } from "./fields.ts";
import { finiteDifferences } from "./gradient.ts";
import { identical, notFinite, place, show } from "./outcome.ts";
import { forAll, type Property } from "./property.ts";
import * as shared from "./shared-properties.ts";
import { entryUnder, evaluate, matrix, plainOf, requireShape, type Subject } from "./subject.ts";
import { defineSuite, type Suite, type SuiteOptions } from "./suite.ts";

/**
 * A golden case of a KL estimator; `gradient` is that of the sum, in `log_prob`. For an estimator over the vocabulary a row is one token's
 * distribution, and `kl` has one number a row.
 */
export type KlPenaltyCase = GoldenCase<
  TokenFields<"log_prob" | "ref_log_prob">,
  { readonly kl?: Matrix; readonly gradient?: Matrix }
>;

function klPenalty(key: string): Subject {
  const { entry, key: canonical } = entryUnder("kl_penalty", key);
  const { ref_log_prob } = fieldShapes(["ref_log_prob"]).tokens;
  const wide = entry.over === "vocabulary";
  return {
    kind: "kl_penalty",
    key: canonical,
    entry,
    options: {},
    shape: { tokens: { log_prob: ref_log_prob!, ref_log_prob: ref_log_prob! }, perRow: {}, settings: {} },
    zeroBehindMask: [],
    begin: (batch) => batch,
    prepare(batch) {
      const { rows, width } = batch;
      const tensors = mapValues(batch.tokens, (values) =>
        wide ? tf.tensor3d(values, [rows, 1, width]) : matrix(values, batch),
      );
      const { log_prob, ref_log_prob: reference } = tensors as Record<"log_prob" | "ref_log_prob", tf.Tensor>;
      return {
        async run() {
          const { gradient, others } = await differentiate(log_prob, (x) => {
            const kl = entry.compute(x, reference);
            requireShape("kl", kl, wide ? [rows, 1] : [rows, width]);
            return { value: tf.sum(kl), others: { kl } };
          });
          return { scalars: {}, tokens: { ...others, gradient } };
        },
        snapshot: () => plainOf(tensors),
        dispose: () => tf.dispose(tensors),
      };
    },
  };
}

const eachTokenAlone: Property<Subject> = forAll(
  "each token stands alone",
  ({ shape }) => [batches(shape, [1, 2]), fc.nat(MAX_ROWS * 4), junk],
  async (subject, batch, chosen, fill) => {
    const want = await evaluate(subject, batch);
    const token = chosen % want.tokens["kl"]!.length;
    const size = batch.mask.length / want.tokens["kl"]!.length;
    const alone = mapValues(batch.tokens, (values) =>
      values.map((value, index) => (Math.floor(index / size) === token ? value : fill)),
    );
    const got = await evaluate(subject, { ...batch, tokens: alone });
    const of = { kl: [token], gradient: Array.from({ length: size }, (_, index) => token * size + index) };
    for (const name of ["kl", "gradient"] as const) {
      const at = of[name].find((index) => !identical(got.tokens[name]![index]!, want.tokens[name]![index]!));
      if (at === undefined) continue;
      const [changed, before] = [show(got.tokens[name]![at]!), show(want.tokens[name]![at]!)];
      return `with ${show(fill)} at all other tokens, ${place(name, at, batch.width)} is ${changed}, not ${before}`;
    }
    return undefined;
  },
);

const zeroWhereEqual: Property<Subject> = forAll(
  "equal policies have no divergence",
  ({ shape }) => [batches(shape, [1, 2])],
  async (subject, batch) => {
    const { tokens } = await evaluate(subject, {
      ...batch,
      tokens: { ...batch.tokens, ref_log_prob: batch.tokens["log_prob"]! },
    });
    const kl = tokens["kl"]!;
    const at = kl.findIndex((value) => value !== 0);
    return at < 0 ? undefined : `${place("kl", at, batch.width)} is ${show(kl[at]!)} for equal log-probs`;
  },
);

const extremes: Property<Subject> = forAll(
  "extreme log-ratios stay finite",
  ({ shape }) => {
    const far = fc.constantFrom(0, -1, -100, -1000);
    return [batches({ ...shape, tokens: { log_prob: far, ref_log_prob: far } }, [1, 2])];
  },
  async (subject, batch) => notFinite(await evaluate(subject, batch), batch.width),
);

const PROPERTIES: readonly Property<Subject>[] = [
  shared.shapes,
  eachTokenAlone,
  zeroWhereEqual,
  finiteDifferences("log_prob", "kl"),
  extremes,
  shared.deterministic,
  shared.notWritten,
  shared.noLeak,
];

/** The tests of one entry of the kind. */
export const klPenaltySuite = (key: string): Suite<Subject, KlPenaltyCase> => ({
  kind: "kl_penalty",
  key,
  subject: () => klPenalty(key),
  properties: PROPERTIES,
  golden: checkCase,
});

/**
 * Tests a KL estimator; the straight-through form, `key+`, needs no test of its own.
 *
 *     testKlPenalty("my_key", { cases: [{ name: "half a nat", input: { log_prob: [[-1]], ref_log_prob: [[-1.5]] }, expected: { kl: [[0.5]] } }] });
 *
 * @throws VERL_TESTING_CASES for golden cases that prove nothing; VERL_TESTING_SETUP without a test runner.
 */
export function testKlPenalty(key: string, options: SuiteOptions<KlPenaltyCase>): void {
  defineSuite(klPenaltySuite(key), options);
}
