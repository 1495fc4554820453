import { provide } from "verl";
import { geo3k } from "./geo3k.ts";
import { gsm8k } from "./gsm8k.ts";
import { mathDapo } from "./math-dapo.ts";
import { mathReward } from "./math-reward.ts";
import { primeMath } from "./prime-math.ts";
import { sandboxFusion } from "./sandbox-fusion.ts";
import { searchR1 } from "./search-r1.ts";

/** Built-in score functions, under verl's names of their modules; the `data_source` values that lead to each are its aliases. */
export const rewardScores = [
  provide("reward_score", "geo3k", geo3k),
  provide("reward_score", "gsm8k", gsm8k),
  provide("reward_score", "math_dapo", mathDapo),
  provide("reward_score", "math_reward", mathReward),
  provide("reward_score", "prime_math", primeMath),
  provide("reward_score", "sandbox_fusion", sandboxFusion),
  provide("reward_score", "search_r1", searchR1),
];
