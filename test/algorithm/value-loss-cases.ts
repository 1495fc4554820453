import * as tf from "@tensorflow/tfjs";
import { countDenominators, createAggregate, valueLoss } from "../../core/algorithm/index.ts";
import { registries } from "../../core/registry/index.ts";
import { differentiate } from "../../core/testing/differentiate.ts";
import { lossAggs } from "../../plugins/loss-agg/index.ts";
import { array, flat, type Matrix } from "./vectors.ts";

for (const { key, entry } of lossAggs) registries.loss_agg.register(key, entry);

type Field = "vpreds" | "returns" | "values" | "response_mask";

export interface ValueLossCase {
  loss_agg_mode: string;
  cliprange_value: number;
  inputs: Record<Field, Matrix>;
  outputs: { vf_loss: number; vf_clipfrac: number; grad_vpreds: Matrix };
}

/** Loss, metrics and gradient of the rows from `start` to `end`, with the denominators of all rows. */
export async function runValueLoss(
  { inputs, cliprange_value, loss_agg_mode }: Omit<ValueLossCase, "outputs">,
  start = 0,
  end = Infinity,
) {
  const tensor = (field: Field): tf.Tensor2D => {
    const rows = inputs[field].slice(start, end);
    return tf.tensor2d(flat(rows), [rows.length, rows[0]!.length]);
  };
  const denominators = countDenominators(array(inputs.response_mask), null);
  const agg = createAggregate(loss_agg_mode, tensor("response_mask"), denominators);
  const { value, gradient, others } = await differentiate(tensor("vpreds"), (vpreds) => {
    const input = { vpreds: vpreds as tf.Tensor2D, values: tensor("values"), returns: tensor("returns") };
    const { loss, metrics } = valueLoss(input, cliprange_value, agg);
    return { value: loss, others: metrics };
  });
  const metrics = Object.fromEntries(Object.entries(others).map(([name, [share]]) => [name, share!]));
  return { loss: value, metrics, grad: gradient };
}
