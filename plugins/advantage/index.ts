import { provide } from "verl";
import { gae } from "./gae.ts";
import { gdpo } from "./gdpo.ts";
import { gpg } from "./gpg.ts";
import { grpo } from "./grpo.ts";
import { grpoPassk } from "./grpo-passk.ts";
import { grpoVectorized } from "./grpo-vectorized.ts";
import { opo } from "./opo.ts";
import { optimalTokenBaseline } from "./optimal-token-baseline.ts";
import { reinforcePlusPlus } from "./reinforce-plus-plus.ts";
import { reinforcePlusPlusBaseline } from "./reinforce-plus-plus-baseline.ts";
import { remax } from "./remax.ts";
import { rloo } from "./rloo.ts";
import { rlooVectorized } from "./rloo-vectorized.ts";
import { tirOptimalTokenBaseline } from "./tir-optimal-token-baseline.ts";

/** Built-in advantage estimators. */
export const advantageEstimators = [
  provide("adv_estimator", "gae", gae),
  provide("adv_estimator", "gdpo", gdpo),
  provide("adv_estimator", "gpg", gpg),
  provide("adv_estimator", "grpo", grpo),
  provide("adv_estimator", "grpo_passk", grpoPassk),
  provide("adv_estimator", "grpo_vectorized", grpoVectorized),
  provide("adv_estimator", "opo", opo),
  provide("adv_estimator", "optimal_token_baseline", optimalTokenBaseline),
  provide("adv_estimator", "reinforce_plus_plus", reinforcePlusPlus),
  provide("adv_estimator", "reinforce_plus_plus_baseline", reinforcePlusPlusBaseline),
  provide("adv_estimator", "remax", remax),
  provide("adv_estimator", "rloo", rloo),
  provide("adv_estimator", "rloo_vectorized", rlooVectorized),
  provide("adv_estimator", "tir_optimal_token_baseline", tirOptimalTokenBaseline),
];
