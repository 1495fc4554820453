import { registries } from "../../../core/registry/index.ts";
import { PpoTrainer } from "../../../core/trainer/ppo-trainer.ts";
import builtIns from "../../../plugins/index.ts";
import { metricsOf, type LoggedStep } from "./read-run.ts";
import { ppoConfig, recordingStream } from "./tiny-run.ts";
import type { FitResult } from "../../../core/trainer/run-record.ts";

/** Registers every built-in. */
export function registerAll(): void {
  for (const { kind, key, entry } of builtIns.provides) registries[kind].register(key, entry as never);
}

/** The tiny run with built-in algorithms. */
export const BUILT_IN = [
  "actor_rollout_ref.actor.loss_agg_mode=token-mean",
  "actor_rollout_ref.actor.policy_loss.loss_mode=vanilla",
  "actor_rollout_ref.actor.kl_loss_type=k1",
  "algorithm.adv_estimator=grpo",
  "algorithm.kl_penalty=kl",
];

export interface FullRun {
  result: FitResult;
  steps: LoggedStep[];
  terminal: string;
}

/** Trains by built-in algorithms. @param onWrite sees what the run writes to its terminal. */
export async function trainFully(
  folder: string,
  overrides: readonly string[],
  { signal, onWrite }: { signal?: AbortSignal; onWrite?: (text: string) => void } = {},
): Promise<FullRun> {
  const stream = recordingStream();
  const write = (text: string): void => {
    stream.write(text);
    onWrite?.(text);
  };
  const trainer = await PpoTrainer.create(ppoConfig(folder, [...BUILT_IN, ...overrides]), {
    stream: { write },
    signal,
  });
  const result = await trainer.fit();
  return { result, steps: result.step > 0 ? metricsOf(result.directory) : [], terminal: stream.text() };
}
