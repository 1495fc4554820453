import { DataProto } from "../../core/batch/data-proto.ts";
import { NdArray } from "../../core/batch/nd-array.ts";
import { loadTokenizer } from "../../core/data/load-tokenizer.ts";
import {
  CONFIG,
  createRunContainer,
  LOGGER,
  METRICS,
  registries,
  TOKENIZER,
  type TokenValues,
} from "../../core/registry/index.ts";
import type { RewardManager } from "../../core/reward/reward-manager.ts";
import { SCORE_FUNCTIONS, type ScoreFunctions } from "../../core/reward/score-functions.ts";
import { StepMetrics } from "../../core/trainer/metrics/step-metrics.ts";
import { rewardManagers } from "../../plugins/reward-manager/index.ts";
import { rewardScores } from "../../plugins/reward-score/index.ts";
import { recordingLogger, SORT_MODEL } from "../data/helpers.ts";

/** One token a letter, and an end token. */
const tokenizer = await loadTokenizer(SORT_MODEL);

const WIDTH = 4;

/** A batch of answers, each with its end token while it fits; prompts are one token long. */
export function batchOf(answers: readonly string[], columns: Record<string, unknown[]> = {}): DataProto {
  const responses = new Int32Array(answers.length * WIDTH);
  const attention = new Int32Array(answers.length * (WIDTH + 1));
  answers.forEach((answer, row) => {
    const ids = answer === "" ? new Int32Array(0) : tokenizer.encode(`${answer}<|end|>`).slice(0, WIDTH);
    responses.set(ids, row * WIDTH);
    attention.fill(1, row * (WIDTH + 1), row * (WIDTH + 1) + 1 + ids.length);
  });
  return new DataProto({
    batch: {
      responses: new NdArray("int32", [answers.length, WIDTH], responses),
      attention_mask: new NdArray("int32", [answers.length, WIDTH + 1], attention),
    },
    nonTensorBatch: {
      data_source: answers.map(() => "s"),
      reward_model: answers.map((answer) => ({ ground_truth: answer })),
      uid: answers.map((_, row) => `u${row}`),
      ...columns,
    },
  });
}

export interface ManagerSetup {
  functions?: ScoreFunctions;
  options?: Record<string, unknown>;
  timeout_s?: number;
  num_workers?: number;
  values?: TokenValues;
}

/** A built-in reward manager as a run has it: its options checked, its parameters injected. */
export function createManager(
  key: string,
  { functions, options, timeout_s = 60, num_workers = 2, values = {} }: ManagerSetup,
): { manager: RewardManager; log: ReturnType<typeof recordingLogger>; metrics: StepMetrics } {
  for (const provided of [...rewardManagers, ...rewardScores])
    registries[provided.kind].register(provided.key, provided.entry as never);
  const log = recordingLogger();
  const metrics = new StepMetrics();
  const container = createRunContainer({
    [TOKENIZER]: tokenizer,
    [LOGGER]: log,
    [METRICS]: metrics,
    [CONFIG]: { reward_model: { timeout_s, num_workers }, actor_rollout_ref: { rollout: { response_length: WIDTH } } },
    [SCORE_FUNCTIONS]: functions,
    ...values,
  });
  return { manager: container.create("reward_manager", key, { options }), log, metrics };
}
