import { registries } from "../registry/registries.ts";
import type { CustomRewardFunction } from "./score-functions.ts";

/**
 * Whether rows must have `reward_model.ground_truth`: a registered score function of ours compares answers with it, while a file's
 * function, or a reward manager that is not known to call score functions, may do without.
 */
export function needsGroundTruth(config: {
  reward_model: { reward_manager: string };
  custom_reward_function: Pick<CustomRewardFunction, "path">;
}): boolean {
  const manager = registries.reward_manager.get(config.reward_model.reward_manager);
  return config.custom_reward_function.path === null && manager?.readsGroundTruth === true;
}
