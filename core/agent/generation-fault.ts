import type { Generation } from "../engine/rollout-engine.ts";
import { VerlError } from "../errors/verl-error.ts";
import { logProbFault } from "./log-prob-fault.ts";

/** What makes an engine's answer unfit to train on; undefined where nothing does. */
export function generationFault({ ids, logprobs }: Pick<Generation, "ids" | "logprobs">): VerlError | undefined {
  const fault = logProbFault(ids, logprobs);
  if (fault === undefined) return undefined;
  return new VerlError("VERL_AGENT_TRAJECTORY", `A generation has ${fault}.`, {
    hint: "The rollout engine is at fault: it gives one log-prob a sampled token, a finite number of at most 0.",
  });
}
