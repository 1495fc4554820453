import { VerlError } from "../errors/verl-error.ts";
import { ASSEMBLED } from "./assemble.ts";
import { logProbFault } from "./log-prob-fault.ts";
import type { Segment, Trajectory } from "./trajectory.ts";
import { vocabularyFault } from "./vocabulary-fault.ts";

const STOP_REASONS: readonly unknown[] = ["stop", "length", "abort", "limit", "error"];

export interface TrajectoryLimits {
  /** Tokens that a prompt may have. */
  promptLength: number;
  /** Columns of the batch, whose values are not the loop's to change. */
  columns: Readonly<Record<string, unknown>>;
  /** Ids of the model that is trained. Default: not known. */
  vocabSize?: number;
}

/**
 * What an attempt ends with when its loop, or the engine that it asked, is at fault: what a trajectory claims of itself is held to what
 * training reads of it.
 * @throws VerlError VERL_AGENT_TRAJECTORY
 */
export function checkTrajectory(trajectory: Trajectory, limits: TrajectoryLimits): void {
  const fault = faultOf(trajectory, limits);
  if (fault === undefined) return;
  throw new VerlError("VERL_AGENT_TRAJECTORY", `A trajectory cannot be used: ${fault}.`, {
    hint: "The agent loop that returned it, or the rollout engine, is at fault. TrajectoryRecorder keeps tokens, log-probs and mask together.",
  });
}

/** In words; the loop may be plain JavaScript. */
function faultOf(
  trajectory: Partial<Trajectory> | null | undefined,
  { promptLength, columns, vocabSize }: TrajectoryLimits,
): string | undefined {
  if (typeof trajectory !== "object" || trajectory === null) return "the loop returned none";
  const { promptIds, segments, stopReason, numTurns, rewardScore, extraFields, weightVersion } = trajectory;
  if (!(promptIds instanceof Int32Array)) return "its promptIds are no Int32Array";
  if (promptIds.length === 0 || promptIds.length > promptLength)
    return `its prompt has ${promptIds.length} tokens; 1 to ${promptLength} are allowed`;
  const stranger = vocabularyFault(promptIds, vocabSize);
  if (stranger !== undefined) return `its prompt has ${stranger}`;
  if (!Array.isArray(segments)) return "its segments are no array";
  for (const segment of segments) {
    const fault = segmentFault(segment, vocabSize);
    if (fault !== undefined) return fault;
  }
  if (!STOP_REASONS.includes(stopReason))
    return `its stopReason is ${String(stopReason)}, not one of ${STOP_REASONS.join(", ")}`;
  if (!Number.isInteger(numTurns)) return `its numTurns are ${String(numTurns)}`;
  if (!Number.isInteger(weightVersion)) return `its weightVersion is ${String(weightVersion)}`;
  if (rewardScore !== undefined && !Number.isFinite(rewardScore)) return `its rewardScore is ${String(rewardScore)}`;
  if (typeof extraFields !== "object" || extraFields === null) return "its extraFields are no object";
  return nameFault(Object.keys(extraFields), columns);
}

function nameFault(names: readonly string[], columns: object): string | undefined {
  const own = names.find((name) => ASSEMBLED.includes(name));
  if (own !== undefined) return `its extra field "${own}" has the name of a field that the run itself fills`;
  const taken = names.find((name) => Object.hasOwn(columns, name));
  return taken === undefined ? undefined : `its extra field "${taken}" has the name of a column of the batch`;
}

function segmentFault({ ids, logprobs, trainable }: Partial<Segment>, vocabSize?: number): string | undefined {
  if (!(ids instanceof Int32Array)) return "the ids of a segment are no Int32Array";
  const stranger = vocabularyFault(ids, vocabSize);
  if (stranger !== undefined) return `a segment has ${stranger}`;
  if (logprobs === undefined) return trainable ? "a trainable segment has no log-probs" : undefined;
  if (!(logprobs instanceof Float32Array)) return "the log-probs of a segment are no Float32Array";
  const fault = logProbFault(ids, logprobs);
  return fault && `a segment has ${fault}`;
}
