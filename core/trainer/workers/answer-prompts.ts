import { LoopRunner } from "../../agent/loop-runner.ts";
import { DataProto } from "../../batch/data-proto.ts";
import type { PpoConfig } from "../../config/index.ts";
import type { Listener } from "../../controller/index.ts";
import type { RolloutEngine, SamplingParams } from "../../engine/rollout-engine.ts";
import { ROLLOUT } from "../../registry/index.ts";
import type { Rng } from "../../tensor/rng.ts";
import { openTracer } from "../rollout-log/open-tracer.ts";
import type { PpoSite } from "../run-site.ts";

/** Among the metrics of `generateSequences`: the rows that a rank answered, by which means of ranks are weighed. */
export const ROWS = "rows";

export interface GenerateOptions {
  step: number;
  /** Number of the step's batch of answers. Default: 1. */
  round?: number;
  validate: boolean;
  /** Training answers at temperature 0, whatever the config samples by. */
  greedy?: boolean;
  signal: AbortSignal;
  /** Told of each answer as its trajectory ends: a batch of one row, as the whole batch will have it. Its group may still be dropped. */
  answered?: Listener<DataProto>;
}

/** The loop of rows without `agent_name`. */
export function defaultLoopOf({ actor_rollout_ref: { rollout } }: PpoConfig): string {
  return rollout.agent.default_agent_loop ?? (rollout.multi_turn.enable ? "tool_agent" : "single_turn_agent");
}

/** What runs the agent loops of one rank on an engine, which plugins are given as `ROLLOUT`. A loop that the config names is made ready. */
export async function createLoopRunner(config: PpoConfig, site: PpoSite, rollout: RolloutEngine): Promise<LoopRunner> {
  const { container, agents, tokenizer, log, metrics } = site;
  const { rollout: section } = config.actor_rollout_ref;
  container.bind({ [ROLLOUT]: rollout });
  const runner = new LoopRunner({
    rollout,
    createLoop: (key) => agents.createLoop(key),
    defaultLoop: defaultLoopOf(config),
    promptLength: section.prompt_length,
    responseLength: section.response_length,
    padTokenId: tokenizer.padTokenId,
    maxConcurrent: section.agent.max_concurrent,
    maxRetries: section.agent.max_retries,
    timeout: section.agent.sample_timeout_s,
    log,
    metrics,
    tracer: await openTracer(config, site),
  });
  if (section.agent.default_agent_loop !== null) await runner.prepare(section.agent.default_agent_loop);
  return runner;
}

/**
 * Answers a rank's share of the prompts: verl's rollout fields, without the rows of groups that failed.
 * @param rank of those that the prompts are spread over.
 */
export async function answerPrompts(
  runner: LoopRunner,
  { config, rng, rank }: { config: PpoConfig; rng: Rng; rank: number },
  prompts: DataProto,
  { step, round = 1, validate, greedy = false, signal, answered }: GenerateOptions,
): Promise<DataProto> {
  const sampling = samplingParams(config, validate);
  const purpose = validate ? "validation" : greedy ? "greedy" : "rollout";
  const own = rng.stream(`${purpose}/${step}${round > 1 ? `.${round}` : ""}/0`);
  // Each row draws its seed in turn, so that it has the same one on any number of ranks: those of the ranks before are passed over.
  for (let before = rank * prompts.length; before > 0; before--) own.nextU32();
  const { batch, metrics } = await runner.run(prompts.unpad(), {
    sampling: greedy ? { ...sampling, temperature: 0 } : sampling,
    rng: own,
    validate,
    signal,
    step,
    onTrajectory: answered && ((row) => answered.tell(row)),
  });
  return batch.union(new DataProto({ metaInfo: { metrics: { ...metrics, [ROWS]: batch.length } } }), "replace");
}

/** Sampling of training answers, or by `val_kwargs` of validation answers. */
function samplingParams(config: PpoConfig, validate: boolean): Omit<SamplingParams, "seed" | "max_tokens"> {
  const { rollout } = config.actor_rollout_ref;
  const { temperature, top_k, top_p, do_sample } = validate ? rollout.val_kwargs : rollout;
  return {
    temperature: do_sample ? temperature : 0,
    top_k,
    top_p,
    // Engines stop at the end token by themselves, unless `ignore_eos`.
    stop_token_ids: [],
    ignore_eos: rollout.ignore_eos,
  };
}
