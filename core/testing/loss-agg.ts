import * as tf from "@tensorflow/tfjs";
import { checkCase, type GoldenCase, type Matrix, type TokenFields } from "./cases.ts";
import { denominatorsOf } from "./denominators.ts";
import { differentiate } from "./differentiate.ts";
import { decimals } from "./fields.ts";
import { finiteDifferences } from "./gradient.ts";
import type { Property } from "./property.ts";
import * as shared from "./shared-properties.ts";
import { entryUnder, matrix, plainOf, requireShape, type Subject } from "./subject.ts";
import { defineSuite, type Suite, type SuiteOptions } from "./suite.ts";

/** A golden case of an aggregation mode: the matrix `losses`, and the loss and its gradient for a step of this one batch. */
export type LossAggCase = GoldenCase<
  TokenFields<"losses" | "response_mask">,
  { readonly loss?: number; readonly gradient?: Matrix }
>;

function lossAgg(key: string): Subject {
  const { entry, key: canonical } = entryUnder("loss_agg", key);
  return {
    kind: "loss_agg",
    key: canonical,
    entry,
    options: {},
    shape: { tokens: { losses: decimals(-3, 3) }, perRow: {}, settings: {} },
    zeroBehindMask: ["gradient"],
    begin: (batch) => batch,
    prepare(batch, step) {
      const tensors = { losses: matrix(batch.tokens["losses"]!, batch), response_mask: matrix(batch.mask, batch) };
      const denominators = denominatorsOf(step);
      return {
        async run() {
          const { value, gradient } = await differentiate(tensors.losses, (losses) => {
            const loss = entry.aggregate(losses as tf.Tensor2D, tensors.response_mask, denominators);
            requireShape("loss", loss, []);
            return { value: loss, others: {} };
          });
          return { scalars: { loss: value }, tokens: { gradient } };
        },
        snapshot: async () => ({ ...(await plainOf(tensors)), denominators: { ...denominators } }),
        dispose: () => tf.dispose(tensors),
      };
    },
  };
}

const PROPERTIES: readonly Property<Subject>[] = [
  shared.shapes,
  shared.maskedInert,
  shared.rowOrder,
  shared.paddingRows,
  shared.paddingColumns,
  shared.microBatches,
  finiteDifferences("losses", "loss"),
  shared.noTokens,
  shared.deterministic,
  shared.notWritten,
  shared.noLeak,
];

/** The tests of one entry of the kind. */
export const lossAggSuite = (key: string): Suite<Subject, LossAggCase> => ({
  kind: "loss_agg",
  key,
  subject: () => lossAgg(key),
  properties: PROPERTIES,
  golden: checkCase,
});

/**
 * Tests an aggregation mode: masks, padding, order, and above all that shares of micro-batches sum to the step's loss.
 *
 *     testLossAgg("my-mode", { cases: [{ name: "two rows", input: { losses, response_mask }, expected: { loss: 3.2 } }] });
 *
 * @throws VERL_TESTING_CASES for golden cases that prove nothing; VERL_TESTING_SETUP without a test runner.
 */
export function testLossAgg(key: string, options: SuiteOptions<LossAggCase>): void {
  defineSuite(lossAggSuite(key), options);
}
