import * as tf from "@tensorflow/tfjs";
import { linearLogProbEntropy, VerlError, type LossInputs, type TokenLoss, type TokenStatistic } from "verl";
import { decode, outputProjection, type Weights } from "./decoder.ts";
import { logSoftmax } from "./log-softmax.ts";
import type { MicroBatch } from "./micro-batch.ts";
import type { ModelConfig } from "./model-config.ts";
import type { Rotary } from "./rotary.ts";

type Output = TokenStatistic | "log_softmax" | "values";

/** A model as micro-batches are computed with it. */
export interface Decoder {
  config: ModelConfig;
  rotary: Rotary;
  weights: Weights;
}

/** The loss of a micro-batch, recorded for these weights. */
export function lossWith(
  weights: Record<string, tf.Tensor>,
  model: Decoder,
  micro: MicroBatch,
  loss: TokenLoss,
  temperature: number,
): ReturnType<TokenLoss["compute"]> {
  const fields = Object.fromEntries(loss.fields.map((name) => [name, micro.field(name)]));
  const outputs = computeOutputs(model, weights, micro, loss.outputs, temperature);
  return loss.compute({ ...(outputs as Omit<LossInputs, "fields">), fields });
}

/** The asked-for outputs, each [paddedRows, paddedResponse], `log_softmax` with the vocabulary as a third axis. */
export function computeOutputs(
  { config, rotary }: Decoder,
  weights: Weights,
  micro: MicroBatch,
  wanted: readonly Output[],
  temperature: number,
): Partial<Record<Output, tf.Tensor>> {
  const { input, targets } = micro.tensors();
  const { promptLength, paddedRows, paddedResponse } = micro;
  const hidden = decode(weights, config, rotary, input, { start: promptLength - 1, count: paddedResponse });
  const flat: Partial<Record<Output, tf.Tensor>> = {};
  const statistics = wanted.filter((name): name is TokenStatistic => name !== "values" && name !== "log_softmax");
  if (config.valueHead && wanted.some((name) => name !== "values")) throw misuse("A value model has no log-probs");
  if (wanted.includes("log_softmax")) {
    flat.log_softmax = logSoftmax(hidden, outputProjection(weights, config), temperature);
  }
  if (statistics.length > 0) {
    Object.assign(
      flat,
      linearLogProbEntropy(hidden, outputProjection(weights, config), targets, statistics, { temperature }),
    );
  }
  if (wanted.includes("values")) {
    if (!config.valueHead) throw misuse("A language model has no values; they are the critic's");
    flat.values = tf.matMul(hidden, weights["score.weight"] as tf.Tensor2D, false, true);
  }
  const shaped = Object.entries(flat).map(([name, tensor]) => {
    const vocabulary = name === "log_softmax" ? [tensor.shape[1]!] : [];
    return [name, tf.reshape(tensor, [paddedRows, paddedResponse, ...vocabulary])] as const;
  });
  return Object.fromEntries(shaped);
}

export function misuse(what: string): VerlError {
  return new VerlError("VERL_INTERNAL", `${what}.`);
}
