import { VerlError } from "../errors/verl-error.ts";
import { describeValue } from "../reward/sample-reward.ts";

/**
 * A reward or score as a tool, an interaction or an agent gave it. They come from JavaScript too, and NaN from any division: what is no
 * finite number costs the attempt, where it would be trained on as no reward or spoil its group.
 * @param value undefined and null stand for no reward
 * @param from what gave it, at a sentence's start: `The tool "calc"`
 * @throws VerlError VERL_AGENT_REWARD that names `from` and the value
 */
export function givenReward(value: unknown, from: string): number | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value === "number" && Number.isFinite(value)) return value;
  const what = typeof value === "number" ? String(value) : describeValue(value);
  throw new VerlError("VERL_AGENT_REWARD", `${from} gave ${what} as a reward.`, {
    hint: "A reward is a finite number; undefined stands for none.",
  });
}
