import * as tf from "@tensorflow/tfjs";
import fc from "fast-check";
import {
  createAggregate,
  type PolicyLossConfig,
  type PolicyLossInput,
  type PolicyLossStep,
} from "../algorithm/index.ts";
import { NdArray } from "../batch/index.ts";
import { registries } from "../registry/index.ts";
import { batches, mapValues, type Batch } from "./batch.ts";
import { checkCase, type GoldenCase, type Matrix, type TokenFields } from "./cases.ts";
import { denominatorsOf } from "./denominators.ts";
import { differentiate } from "./differentiate.ts";
import { fieldShapes } from "./fields.ts";
import { finiteDifferences } from "./gradient.ts";
import { notFinite } from "./outcome.ts";
import { forAll, type Property } from "./property.ts";
import * as shared from "./shared-properties.ts";
import {
  entryUnder,
  evaluate,
  matrix,
  plainOf,
  optionsOf,
  requireShape,
  watchedFields,
  watchedOptions,
  type Subject,
} from "./subject.ts";
import { defineSuite, type Suite, type SuiteOptions, type TestedWith } from "./suite.ts";

/** A golden case of a policy loss. `loss` is the step's, `gradient` is that in `log_probs`. */
export type PolicyLossCase = GoldenCase<
  TokenFields<"log_probs" | "old_log_probs" | "advantages" | "response_mask">,
  { readonly loss?: number; readonly gradient?: Matrix; readonly metrics?: Readonly<Record<string, number>> },
  PolicyLossConfig
>;

/** Fields that a run may leave out. */
const OPTIONAL = ["rollout_is_weights", "entropy"];
const USUAL = ["log_probs", "old_log_probs", "advantages", ...OPTIONAL];

const DEFAULTS: Omit<PolicyLossConfig, "policy_loss"> = {
  clip_ratio: 0.2,
  clip_ratio_low: null,
  clip_ratio_high: null,
  clip_ratio_c: 3,
  tau_pos: 1,
  tau_neg: 1.05,
  loss_agg_mode: "token-mean",
};

function policyLoss(key: string, { options: given, fields }: TestedWith): Subject {
  const { entry, key: canonical } = entryUnder("policy_loss", key);
  const options = optionsOf("policy_loss", key, given);
  const names = [...new Set([...USUAL, ...(entry.requires ?? [])])];
  const configOf = ({ settings }: Batch): PolicyLossConfig => {
    const { policy_loss: own, ...rest } = settings;
    return { ...DEFAULTS, ...rest, policy_loss: { ...options, ...(own as object), loss_mode: canonical } };
  };
  const begin = (batch: Batch): Batch => {
    if (!entry.prepare || batch.begun) return batch;
    const array = (values: Float32Array): NdArray => new NdArray("float32", [batch.rows, batch.width], values.slice());
    const step = { ...mapValues(batch.tokens, array), response_mask: array(batch.mask) };
    const metrics: Record<string, number> = {};
    const metric = (name: string, value: number): void => void (metrics[name] = value);
    return withFields(batch, entry.prepare(step as PolicyLossStep, configOf(batch), { metric }), metrics);
  };
  return {
    kind: "policy_loss",
    key: canonical,
    entry,
    options,
    shape: {
      ...fieldShapes(names, fields),
      settings: { loss_agg_mode: fc.constantFrom(...registries.loss_agg.keys()) },
      optional: OPTIONAL.filter((name) => !entry.requires?.includes(name)),
    },
    zeroBehindMask: ["gradient"],
    begin,
    prepare(batch, step) {
      const config = configOf(batch);
      const strictConfig = { ...config, policy_loss: watchedOptions(config.policy_loss, entry, ["loss_mode"]) };
      const tensors = tensorsOf(batch);
      const allowed = [...names, "response_mask", ...(batch.begun?.fields ?? [])];
      return {
        async run(strict = false) {
          const agg = createAggregate(config.loss_agg_mode, tensors.response_mask, denominatorsOf(step));
          const { value, gradient, others } = await differentiate(tensors.log_probs, (x) => {
            const input = { ...tensors, log_probs: x as tf.Tensor2D };
            const { loss, metrics } = strict
              ? entry.compute(watchedFields(input, allowed), strictConfig, agg)
              : entry.compute(input, config, agg);
            requireShape("loss", loss, []);
            for (const [name, metric] of Object.entries(metrics)) requireShape(name, metric, []);
            return { value: loss, others: metrics };
          });
          return { scalars: { loss: value, ...mapValues(others, ([metric]) => metric!) }, tokens: { gradient } };
        },
        snapshot: async () => ({ ...(await plainOf(tensors)), config: structuredClone(config) }),
        dispose: () => tf.dispose(tensors),
      };
    },
  };
}

function tensorsOf(batch: Batch): PolicyLossInput & Record<string, tf.Tensor> {
  const column = (values: readonly unknown[]): tf.Tensor => tf.tensor1d(values as number[], "float32");
  return {
    ...mapValues(batch.perRow, column),
    ...(mapValues(batch.tokens, (values) => matrix(values, batch)) as Record<"log_probs", tf.Tensor2D> &
      Record<"old_log_probs" | "advantages", tf.Tensor2D>),
    response_mask: matrix(batch.mask, batch),
  };
}

/** The batch with what `prepare` returned and reported. */
function withFields(batch: Batch, fields: Readonly<Record<string, NdArray>>, metrics: Record<string, number>): Batch {
  const { response_mask, ...others } = fields;
  const tokens: Record<string, Float32Array> = { ...batch.tokens };
  const perRow: Record<string, readonly unknown[]> = { ...batch.perRow };
  for (const [name, { shape, data }] of Object.entries(others)) {
    if (shape.length === 2) tokens[name] = Float32Array.from(data as Float32Array);
    else perRow[name] = Array.from(data as Float32Array);
  }
  const mask = response_mask ? Float32Array.from(response_mask.data as Float32Array) : batch.mask;
  return { ...batch, mask, tokens, perRow, begun: { fields: Object.keys(fields), metrics } };
}

const extremes: Property<Subject> = forAll(
  "extreme log-ratios stay finite",
  ({ shape }) => {
    const far = fc.constantFrom(0, -1, -100, -1000);
    return [batches({ ...shape, tokens: { ...shape.tokens, log_probs: far, old_log_probs: far } }, [1, 2])];
  },
  async (subject, batch) => notFinite(await evaluate(subject, batch), batch.width),
);

const PROPERTIES: readonly Property<Subject>[] = [
  shared.shapes,
  shared.maskedInert,
  shared.rowOrder,
  shared.paddingRows,
  shared.paddingColumns,
  shared.microBatches,
  finiteDifferences("log_probs", "loss"),
  extremes,
  shared.noTokens,
  shared.deterministic,
  shared.notWritten,
  shared.noLeak,
  shared.declaredReads,
  shared.declaredMetrics,
];

/** The tests of one entry of the kind. */
export const policyLossSuite = (key: string, options: TestedWith): Suite<Subject, PolicyLossCase> => ({
  kind: "policy_loss",
  key,
  subject: () => policyLoss(key, options),
  properties: PROPERTIES,
  golden: checkCase,
});

/**
 * Tests a policy loss: value, gradient and metrics under masks, padding, reordering and any cut into micro-batches, and your golden cases.
 * It runs with every aggregation mode, with rollout correction and without.
 *
 *     testPolicyLoss("my_key", { cases: [{ name: "on policy", input: { log_probs, old_log_probs, advantages, response_mask }, expected: { loss, gradient } }] });
 *
 * A loss whose gradient is not its slope by design, because it holds a weight constant, says so:
 * `except: { "the gradient is that of finite differences": "the ratio is held constant" }`.
 * @throws VERL_TESTING_CASES for golden cases that prove nothing; VERL_TESTING_SETUP without a test runner.
 */
export function testPolicyLoss(key: string, options: SuiteOptions<PolicyLossCase>): void {
  defineSuite(policyLossSuite(key, options), options);
}
