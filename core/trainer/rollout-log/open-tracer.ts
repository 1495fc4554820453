import { openTelemetrySink, RolloutTracer } from "../../agent/index.ts";
import type { PpoConfig } from "../../config/index.ts";
import type { PpoSite } from "../run-site.ts";
import { traceLog } from "./trace-log.ts";

/** What `rollout.trace` asks for; undefined: nothing. @throws VerlError VERL_TRACE_BACKEND */
export async function openTracer(
  { actor_rollout_ref, trainer }: PpoConfig,
  { tokenizer, log }: Pick<PpoSite, "tokenizer" | "log">,
): Promise<RolloutTracer | undefined> {
  const { backend, token2text, max_samples_per_step_per_worker: maxSamples } = actor_rollout_ref.rollout.trace;
  if (backend === null) return undefined;
  const sink = backend === "jsonl" ? traceLog(trainer.default_local_dir) : await openTelemetrySink();
  return new RolloutTracer({ sink, maxSamples, log, ...(token2text ? { tokenizer } : {}) });
}
